package docker_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// cisPage is the table of the benchmark's section on containers.
const cisPage = "../../docs/security/cis.md"

// cisRules say of one container, as the engine reports it, whether it meets a recommendation.
var cisRules = map[string]func(container.InspectResponse) bool{
	"5.2": func(c container.InspectResponse) bool {
		return c.AppArmorProfile != "unconfined" && !hasOption(c, "apparmor")
	},
	"5.3": func(c container.InspectResponse) bool { return !hasOption(c, "label") },
	"5.4": func(c container.InspectResponse) bool {
		return slices.Equal(c.HostConfig.CapDrop, []string{"ALL"}) && len(c.HostConfig.CapAdd) == 0
	},
	"5.5":  func(c container.InspectResponse) bool { return !c.HostConfig.Privileged },
	"5.6":  func(c container.InspectResponse) bool { return !bindsMatch(c, sensitiveFolder) },
	"5.8":  func(c container.InspectResponse) bool { return len(c.HostConfig.PortBindings) == 0 },
	"5.10": func(c container.InspectResponse) bool { return !c.HostConfig.NetworkMode.IsHost() },
	"5.11": func(c container.InspectResponse) bool {
		return c.HostConfig.Memory > 0 && c.HostConfig.MemorySwap == c.HostConfig.Memory
	},
	"5.12": func(c container.InspectResponse) bool { return c.HostConfig.NanoCPUs > 0 },
	"5.13": func(c container.InspectResponse) bool { return c.HostConfig.ReadonlyRootfs },
	"5.14": func(c container.InspectResponse) bool { return len(c.HostConfig.PortBindings) == 0 },
	"5.15": func(c container.InspectResponse) bool {
		p := c.HostConfig.RestartPolicy
		return p.IsNone() || p.IsOnFailure() && p.MaximumRetryCount <= 5
	},
	"5.16": func(c container.InspectResponse) bool { return c.HostConfig.PidMode == "" },
	"5.17": func(c container.InspectResponse) bool { return c.HostConfig.IpcMode == "private" },
	"5.18": func(c container.InspectResponse) bool {
		return len(c.HostConfig.Devices)+len(c.HostConfig.DeviceRequests) == 0
	},
	"5.19": func(c container.InspectResponse) bool {
		return slices.ContainsFunc(c.HostConfig.Ulimits, func(u *container.Ulimit) bool {
			return u.Name == "core" && u.Hard == 0
		})
	},
	"5.20": func(c container.InspectResponse) bool {
		return !slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool {
			return strings.Contains(string(m.Propagation), "shared")
		})
	},
	"5.21": func(c container.InspectResponse) bool { return c.HostConfig.UTSMode == "" },
	"5.22": func(c container.InspectResponse) bool { return !hasOption(c, "seccomp") },
	"5.25": func(c container.InspectResponse) bool { return c.HostConfig.CgroupParent == "" },
	"5.26": func(c container.InspectResponse) bool {
		return slices.Contains(c.HostConfig.SecurityOpt, "no-new-privileges")
	},
	"5.29": func(c container.InspectResponse) bool {
		return c.HostConfig.PidsLimit != nil && *c.HostConfig.PidsLimit > 0
	},
	"5.30": func(c container.InspectResponse) bool {
		return !slices.Contains([]string{"", "default", "bridge"}, string(c.HostConfig.NetworkMode))
	},
	"5.31": func(c container.InspectResponse) bool { return c.HostConfig.UsernsMode == "" },
	"5.32": func(c container.InspectResponse) bool { return !bindsMatch(c, engineSocketPath) },
}

var (
	sensitiveFolder  = regexp.MustCompile(`^(/|/boot|/dev|/etc|/lib|/proc|/run|/sys|/usr)$`)
	engineSocketPath = regexp.MustCompile(`docker\.sock$|^/run/engine\.sock$`)
)

func hasOption(c container.InspectResponse, name string) bool {
	return slices.ContainsFunc(c.HostConfig.SecurityOpt, func(o string) bool {
		return strings.HasPrefix(o, name)
	})
}

func bindsMatch(c container.InspectResponse, path *regexp.Regexp) bool {
	return slices.ContainsFunc(c.HostConfig.Mounts, func(m mount.Mount) bool {
		return path.MatchString(m.Source) || path.MatchString(m.Target)
	}) || len(c.HostConfig.Binds) > 0
}

// inspections holds what the engine says of the containers that it creates.
type inspections struct {
	api    *client.Client
	engine http.Handler

	mu  sync.Mutex
	all map[string][]container.InspectResponse
}

// ServeHTTP passes requests on, and inspects each new container before its maker hears of it.
func (i *inspections) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/containers/create") {
		i.engine.ServeHTTP(w, r)
		return
	}
	answer := &heldAnswer{header: http.Header{}}
	i.engine.ServeHTTP(answer, r)
	var made struct{ ID string }
	if json.Unmarshal(answer.body.Bytes(), &made) == nil && made.ID != "" {
		c, err := i.api.ContainerInspect(r.Context(), made.ID, client.ContainerInspectOptions{})
		if err == nil {
			i.note(c.Container)
		}
	}
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	_, _ = io.Copy(w, &answer.body)
}

func (i *inspections) note(c container.InspectResponse) {
	i.mu.Lock()
	defer i.mu.Unlock()
	kind := c.Config.Labels["nullops.kind"]
	if _, probe := c.Config.Labels["nullops.probe"]; probe {
		kind = "probe"
	}
	if strings.Contains(c.Name, "migration") {
		kind = "job"
	}
	i.all[kind] = append(i.all[kind], c)
}

// heldAnswer keeps an answer until it may be sent.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *heldAnswer) Header() http.Header         { return h.header }
func (h *heldAnswer) WriteHeader(status int)      { h.status = status }
func (h *heldAnswer) Write(b []byte) (int, error) { return h.body.Write(b) }

// The table says what each kind of container meets. The engine's own account of real containers
// must agree: a setting that becomes weaker, or a reason that is no longer needed, fails.
func TestContainers_MeetTheBenchmark(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	host := dockertest.Host(t)
	seen := &inspections{api: dockertest.Client(t, host), engine: engineProxy(host),
		all: map[string][]container.InspectResponse{}}
	r := newRigOn(t, host)
	direct := r.Docker
	r.Docker = r.openWith(func(c *docker.Config) { c.Host = standBefore(t, seen) })
	defer func() {
		_ = r.Close()
		r.Docker = direct // the clean-up comes after the end of the proxy
	}()
	id := r.deployment()
	s := r.service(id, "web")
	s.Volumes = []pipeline.Volume{{Name: "site", Path: "/site", Shared: "site"}}
	r.start(s)
	job := r.service(id, "migration")
	job.Ready, job.Ports, job.Command = nil, nil, []string{"exit", "0"}
	if err := r.StartService(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if err := r.CreatePlugin(t.Context(), r.plugin(id, "seed")); err != nil {
		t.Fatal(err)
	}
	r.prepareShared(r.Docker, id, "first", "second")
	r.probe(wire.SeverityOK)
	content, err := r.ReadVolume(t.Context(), agent.VolumeName{Deployment: id, Name: "site"})
	if err != nil {
		t.Fatal(err)
	}
	_ = content.Close()
	seen.createHelpers(t, r)
	table := readBenchmark(t)
	for _, kind := range []string{"service", "job", "plugin", "relay", "holder", "probe", "copy",
		"lender", "replacement"} {
		if len(seen.all[kind]) == 0 {
			t.Errorf("no container of kind %s was created", kind)
		}
		for rule, met := range cisRules {
			for _, c := range seen.all[kind] {
				if said := table[rule][kind]; met(c) != (said == "met") {
					t.Errorf("%s of %s: the page says %q, the engine says otherwise: %+v",
						rule, kind, said, c.HostConfig)
				}
			}
		}
	}
}

// createHelpers creates the helpers that nothing here starts.
func (i *inspections) createHelpers(t *testing.T, r *rig) {
	t.Helper()
	for kind, host := range docker.HelperHosts("/run/engine.sock") {
		host.AutoRemove = false
		// What is mounted need not exist to look at the settings.
		mounts := host.Mounts
		host.Mounts = nil
		made, err := i.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Config:     &container.Config{Image: r.image.Repository + ":" + r.image.Tag},
			HostConfig: host})
		if err != nil {
			t.Fatal(err)
		}
		c, err := i.api.ContainerInspect(t.Context(), made.ID, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if kind == "replacement" {
			c.Container.HostConfig.Mounts = mounts
		}
		i.all[kind] = append(i.all[kind], c.Container)
		_, err = i.api.ContainerRemove(t.Context(), made.ID, client.ContainerRemoveOptions{})
		if err != nil {
			t.Error(err)
		}
	}
}

// readBenchmark reads the cells of the page: by recommendation and kind.
func readBenchmark(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile(cisPage)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]string{}
	var kinds []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "number":
			kinds = cells
		case strings.HasPrefix(cells[0], "5.") && len(cells) == len(kinds):
			row := map[string]string{}
			for i, kind := range kinds {
				row[kind] = cells[i]
			}
			table[cells[0]] = row
		}
	}
	if len(table) != 32 {
		t.Fatalf("the page has %d recommendations instead of 32", len(table))
	}
	return table
}

package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// shippedContainer is what can be said of a container before an engine creates it.
type shippedContainer struct {
	Privileged   bool     `yaml:"privileged"`
	ReadOnly     bool     `yaml:"read_only"`
	CapDrop      []string `yaml:"cap_drop"`
	CapAdd       []string `yaml:"cap_add"`
	SecurityOpt  []string `yaml:"security_opt"`
	Ports        []string `yaml:"ports"`
	Volumes      []string `yaml:"volumes"`
	Restart      string   `yaml:"restart"`
	NetworkMode  string   `yaml:"network_mode"`
	PID          string   `yaml:"pid"`
	IPC          string   `yaml:"ipc"`
	Userns       string   `yaml:"userns_mode"`
	UTS          string   `yaml:"uts"`
	CgroupParent string   `yaml:"cgroup_parent"`
	Devices      []string `yaml:"devices"`
	MemoryLimit  string   `yaml:"mem_limit"`
	CPUs         string   `yaml:"cpus"`
	Ulimits      any      `yaml:"ulimits"`
	PidsLimit    int      `yaml:"pids_limit"`
	ownNetwork   bool
}

// shippedRules are those of agent/docker (cisRules), for containers that people start.
var shippedRules = map[string]func(shippedContainer) bool{
	"5.2": func(c shippedContainer) bool { return !c.hasOption("apparmor") },
	"5.3": func(c shippedContainer) bool { return !c.hasOption("label") },
	"5.4": func(c shippedContainer) bool {
		return slices.Equal(c.CapDrop, []string{"ALL"}) && len(c.CapAdd) == 0
	},
	"5.5": func(c shippedContainer) bool { return !c.Privileged },
	"5.6": func(c shippedContainer) bool {
		return !slices.ContainsFunc(c.Volumes, func(v string) bool {
			return regexp.MustCompile(`^(/|/boot|/dev|/etc|/lib|/proc|/run|/sys|/usr):`).MatchString(v)
		})
	},
	"5.8": func(c shippedContainer) bool {
		return !slices.ContainsFunc(c.Ports, func(p string) bool {
			return regexp.MustCompile(`(^|:)[1-9]\d{0,2}:`).MatchString(p)
		})
	},
	"5.10": func(c shippedContainer) bool { return c.NetworkMode != "host" },
	"5.11": func(c shippedContainer) bool { return c.MemoryLimit != "" },
	"5.12": func(c shippedContainer) bool { return c.CPUs != "" },
	"5.13": func(c shippedContainer) bool { return c.ReadOnly },
	"5.14": func(c shippedContainer) bool {
		return !slices.ContainsFunc(c.Ports, func(p string) bool {
			return !strings.Contains(p, "127.0.0.1:")
		})
	},
	"5.15": func(c shippedContainer) bool { return c.Restart == "" || c.Restart == "no" },
	"5.16": func(c shippedContainer) bool { return c.PID == "" },
	"5.17": func(c shippedContainer) bool { return c.IPC == "" },
	"5.18": func(c shippedContainer) bool { return len(c.Devices) == 0 },
	"5.19": func(c shippedContainer) bool { return c.Ulimits != nil },
	"5.20": func(c shippedContainer) bool {
		return !slices.ContainsFunc(c.Volumes, func(v string) bool {
			return strings.HasSuffix(v, "shared")
		})
	},
	"5.21": func(c shippedContainer) bool { return c.UTS == "" },
	"5.22": func(c shippedContainer) bool { return !c.hasOption("seccomp") },
	"5.25": func(c shippedContainer) bool { return c.CgroupParent == "" },
	"5.26": func(c shippedContainer) bool { return c.hasOption("no-new-privileges") },
	"5.29": func(c shippedContainer) bool { return c.PidsLimit > 0 },
	"5.30": func(c shippedContainer) bool { return c.ownNetwork },
	"5.31": func(c shippedContainer) bool { return c.Userns == "" },
	"5.32": func(c shippedContainer) bool {
		return !slices.ContainsFunc(c.Volumes, func(v string) bool {
			return strings.Contains(v, "docker.sock")
		})
	},
}

func (c shippedContainer) hasOption(name string) bool {
	return slices.ContainsFunc(c.SecurityOpt, func(o string) bool {
		return strings.HasPrefix(o, name)
	})
}

// What people start as the documentation says has the settings that the table of the benchmark
// claims, neither weaker nor stronger ones.
func TestHardening_ShippedContainersMeetTheBenchmark(t *testing.T) {
	root := openRepository(t)
	var file struct {
		Services map[string]shippedContainer `yaml:"services"`
	}
	if err := yaml.Unmarshal([]byte(readText(t, root, "deploy/compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	agent := readAgentCommand(t, readText(t, root, "docs/nodes.md"))
	if len(file.Services) != 4 || len(agent.Volumes) < 3 {
		t.Fatalf("read %d services and %+v", len(file.Services), agent)
	}
	page := readText(t, root, "docs/security/cis.md")
	head := regexp.MustCompile(`(?m)^\| number \|.*$`).FindString(page)
	kinds := strings.Split(strings.TrimSuffix(head, " |"), " | ")
	for rule, met := range shippedRules {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(rule) + ` \|.*$`).FindString(page)
		cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
		check := func(kind string, ok bool) {
			if at := slices.Index(kinds, kind); at < 0 || len(cells) <= at || (cells[at] == "met") != ok {
				t.Errorf("%s of %s: the page says otherwise: %s", rule, kind, row)
			}
		}
		ours := true
		for name, c := range file.Services {
			c.ownNetwork = true
			if name == "postgres" {
				check("postgres", met(c))
				continue
			}
			ours = ours && met(c)
		}
		check("controlplane", ours)
		check("agent", met(agent))
	}
}

// readAgentCommand reads the first command of the page that starts an agent.
func readAgentCommand(t *testing.T, page string) (c shippedContainer) {
	t.Helper()
	command := regexp.MustCompile(`docker run (?:[^\n]*\\\n)*[^\n]*`).FindString(page)
	words := strings.Fields(strings.ReplaceAll(command, "\\\n", " "))
	for i, word := range words {
		value := words[min(i+1, len(words)-1)]
		switch word {
		case "--privileged":
			c.Privileged = true
		case "--read-only":
			c.ReadOnly = true
		case "-p":
			c.Ports = append(c.Ports, value)
		case "-v":
			c.Volumes = append(c.Volumes, value)
		case "--restart":
			c.Restart = value
		case "--network", "--net":
			c.NetworkMode, c.ownNetwork = value, value != "host"
		case "--pid":
			c.PID = value
		case "--security-opt":
			c.SecurityOpt = append(c.SecurityOpt, value)
		case "--cap-drop":
			c.CapDrop = append(c.CapDrop, value)
		}
	}
	return c
}

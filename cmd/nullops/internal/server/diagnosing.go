package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/traefik/paerser/flag"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/diagnose"
	"github.com/nullops/nullops/internal/logs"
)

// newDiagnosis is this process's part in what admins look at.
func (b *serverBase) newDiagnosis(role controlplane.ProcessRole) *diagnose.Diagnosis {
	c := diagnose.Config{Store: b.store, Process: b.processID(role), Release: release,
		Components:      logs.Components()["server"],
		AgentComponents: logs.Components()["agent"],
		Files: func() []controlplane.DiagnosisFile {
			return describeProcess(b.settings, b.metrics.Registry())
		},
		Apply: func(levels map[string]slog.Level) {
			if b.settings.logs != nil {
				b.settings.logs.SetLevels(levels)
			}
		},
		Log: b.logOf("jobs")}
	if role == controlplane.RoleControlPlane {
		c.Agents = b.dialer
		c.Secrets = b.openSecrets
	}
	return diagnose.New(c)
}

// processID names this process among those that tell that they are alive.
func (b *serverBase) processID(role controlplane.ProcessRole) string {
	return b.nodeTable.Holder + "/" + string(role)
}

// openSecrets opens everything that must not be in an archive, by what it is.
func (b *serverBase) openSecrets(ctx context.Context) (map[string][]controlplane.Plain, error) {
	all, err := b.keys.OpenAll(ctx, access.System("diagnose"))
	if err != nil {
		return nil, err
	}
	for name, values := range listSecretSettings(b.settings) {
		for _, value := range values {
			all["setting "+name] = append(all["setting "+name], controlplane.NewPlain(value))
		}
	}
	return all, nil
}

// listSecretSettings returns the secrets among the settings, by the setting's name, and those of
// the variables that are no settings of ours.
func listSecretSettings(s Settings) map[string][]string {
	all := map[string][]string{"master.keys": splitKeys(s.Master.Keys),
		"ingress.keys": splitKeys(s.Ingress.Keys), "oidc.secret": {s.OIDC.Secret},
		"mail.password": {s.Mail.Password}, "backup.s3.secret": {s.Backup.S3.Secret},
		"database.url": {databasePassword(s.Database.URL)},
		"agent.token":  {s.Agent.Token}, "agent.provisioning.token": {s.Agent.Provisioning.Token},
		"alerts.heartbeat": {s.Alerts.Heartbeat}, "alerts.down": {s.Alerts.Down},
		"agent.proxy":                 {databasePassword(s.Agent.Proxy)},
		"OTEL_EXPORTER_OTLP_HEADERS":  splitKeys(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")),
		"OTEL_EXPORTER_OTLP_ENDPOINT": {databasePassword(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))}}
	for name, values := range all {
		values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
		if len(values) == 0 {
			delete(all, name)
			continue
		}
		all[name] = values
	}
	return all
}

// splitKeys returns the values of id:value,id:value, or id=value.
func splitKeys(text string) (values []string) {
	for pair := range strings.SplitSeq(text, ",") {
		if i := strings.IndexAny(pair, ":="); i >= 0 {
			values = append(values, strings.TrimSpace(pair[i+1:]))
		}
	}
	return values
}

// databasePassword returns the password in a URL, or in a key=value string.
func databasePassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		password, _ := u.User.Password()
		return password
	}
	for field := range strings.FieldsSeq(text) {
		if value, ok := strings.CutPrefix(field, "password="); ok {
			return strings.Trim(value, "'")
		}
	}
	return ""
}

// describeProcess is what a process knows of itself. What is secret in it is hidden by whoever
// writes the archive, too.
func describeProcess(
	s Settings, registry *prometheus.Registry,
) (files []controlplane.DiagnosisFile) {
	add := func(name string, data []byte) {
		files = append(files, controlplane.DiagnosisFile{Name: name, Data: data})
	}
	add("process.txt", fmt.Appendf(nil, "release %s\n%s %s/%s\npid %d\nprocessors %d\ngoroutines %d\n",
		release, runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getpid(), runtime.GOMAXPROCS(0),
		runtime.NumGoroutine()))
	add("settings.txt", describeSettings(s))
	if s.logs != nil {
		add("log.txt", s.logs.Recent())
	}
	var stacks bytes.Buffer
	// Addresses and counts: no values.
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	add("goroutines.txt", stacks.Bytes())
	add("metrics.txt", renderMetrics(registry))
	return files
}

// describeSettings lists the settings that differ from their defaults, without secrets.
func describeSettings(s Settings) []byte {
	var out bytes.Buffer
	secret := listSecretSettings(s)
	defaults := map[string]string{}
	d := defaultSettings()
	standard, err := flag.Encode(&d)
	now, failed := flag.Encode(&s)
	if err != nil || failed != nil {
		return nil // ListSettings panics first
	}
	for _, f := range standard {
		defaults[f.Name] = f.Default
	}
	for _, f := range now {
		if f.Default == defaults[f.Name] {
			continue
		}
		value := f.Default
		if values, hidden := secret[f.Name]; hidden {
			for _, v := range values {
				value = strings.ReplaceAll(value, v, "[secret]")
			}
		}
		fmt.Fprintf(&out, "%s = %s\n", f.Name, value)
	}
	return out.Bytes()
}

// renderMetrics is what /metrics would answer.
func renderMetrics(registry *prometheus.Registry) []byte {
	r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil // the request is a constant
	}
	answer := &bufferedAnswer{header: http.Header{}}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, r)
	return answer.body.Bytes()
}

// bufferedAnswer keeps an answer in memory.
type bufferedAnswer struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *bufferedAnswer) Header() http.Header { return a.header }

// Write implements http.ResponseWriter.
func (a *bufferedAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }

// WriteHeader implements http.ResponseWriter.
func (a *bufferedAnswer) WriteHeader(int) {}

// agentDiagnosis lets the control plane look at an agent's process.
func agentDiagnosis(s Settings) agent.Diagnosis {
	var mu sync.Mutex
	levels := map[string]slog.Level{}
	ends := map[string]*time.Timer{}
	apply := func(component string, level *slog.Level) {
		if delete(levels, component); level != nil {
			levels[component] = *level
		}
		s.logs.SetLevels(levels)
	}
	return agent.Diagnosis{
		Files: func() (files []wire.DiagnosisFile) {
			for _, f := range describeProcess(s, newProcessRegistry()) {
				files = append(files, wire.DiagnosisFile(f))
			}
			return files
		},
		SetLevel: func(l wire.LogLevel) error {
			mu.Lock()
			defer mu.Unlock()
			if end := ends[l.Component]; end != nil {
				end.Stop()
			}
			if l.Seconds <= 0 {
				apply(l.Component, nil)
				return nil
			}
			var level slog.Level
			if err := level.UnmarshalText([]byte(l.Level)); err != nil {
				return err
			}
			if !slices.Contains(logs.Components()["agent"], l.Component) {
				return fmt.Errorf("there is no component %q", l.Component)
			}
			apply(l.Component, &level)
			ends[l.Component] = time.AfterFunc(time.Duration(l.Seconds)*time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				apply(l.Component, nil)
			})
			return nil
		}}
}

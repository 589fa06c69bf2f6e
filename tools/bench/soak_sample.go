package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// soakProcesses are the programs of ours that are looked at.
func soakProcesses() []string { return []string{"controlplane", "ingress", "agent"} }

// soakHeader is the first line of the file of samples.
type soakHeader struct {
	Began       time.Time   `json:"began"`
	Commit      string      `json:"commit"`
	Load        string      `json:"load"`
	Machine     [][2]string `json:"machine"`
	Deployments int         `json:"deployments"`
	Stable      int         `json:"stable"`
	Visits      int         `json:"visits_per_second"`
	Listeners   int         `json:"listeners"`
	// Note is what a reader of the figures has to know of this run.
	Note string `json:"note,omitempty"`
}

// soakSample is each other line: what there was at one moment.
type soakSample struct {
	// After is in seconds since the beginning.
	After float64 `json:"after"`
	// Rest: nobody uses it any more.
	Rest bool `json:"rest,omitempty"`
	// Values are by name: each is a row of the report.
	Values map[string]float64 `json:"values"`
	// Tables are the largest ones of the database, in MiB.
	Tables map[string]float64 `json:"tables"`
	Counts soakCounts         `json:"counts"`
	Load   float64            `json:"load"`
}

func (s *soak) write(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(text, '\n'))
	return err
}

// sample counts everything once.
func (s *soak) sample(ctx context.Context, install string, rest bool) error {
	one := soakSample{After: time.Since(s.began).Seconds(), Rest: rest, Values: map[string]float64{},
		Tables: map[string]float64{}}
	s.mu.Lock()
	one.Counts = s.counts
	slow := s.slow
	s.slow = nil
	s.mu.Unlock()
	one.Values["visits.p99_ms"] = computePercentile(slow, 0.99)
	one.Load, _ = strconv.ParseFloat(firstMatch(readText("/proc/loadavg"), `^\S+`), 64)
	processes := map[string]*server{"controlplane": s.controlPlane, "ingress": s.ingress,
		"agent": s.agent}
	for _, name := range soakProcesses() {
		if err := s.sampleProcess(ctx, &one, name, processes[name].cmd.Process.Pid); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := errors.Join(s.sampleRelays(ctx, &one, install), s.sampleDatabase(ctx, &one),
		s.sampleDisk(&one), s.sampleEngine(ctx, &one, install)); err != nil {
		return err
	}
	return s.write(one)
}

// sampleProcess reads what the kernel and the process itself know about it.
func (s *soak) sampleProcess(ctx context.Context, to *soakSample, name string, pid int) error {
	status := readText(fmt.Sprintf("/proc/%d/status", pid))
	for key, field := range map[string]string{"rss_mib": "VmRSS", "own_mib": "RssAnon"} {
		kib, err := strconv.ParseFloat(firstMatch(status, field+`:\s+(\d+) kB`), 64)
		if err != nil {
			return fmt.Errorf("the process has no %s: %w", field, err)
		}
		to.Values[name+"."+key] = kib / 1024
	}
	descriptors, connections, err := countDescriptors(pid)
	if err != nil {
		return err
	}
	to.Values[name+".descriptors"], to.Values[name+".connections"] = descriptors, connections
	used, err := processorTime(pid)
	if err != nil {
		return err
	}
	to.Values[name+".cpu_seconds"] = used.Seconds()
	a := newAsker("http://" + s.metrics[name])
	// Or each sample would leave a connection open, and with it what is counted here.
	defer a.web.CloseIdleConnections()
	text, err := a.get(ctx, "", "/metrics")
	if err != nil {
		return err
	}
	for key, metric := range map[string]string{"goroutines": "go_goroutines",
		"heap_mib": "go_memstats_heap_inuse_bytes"} {
		v, err := strconv.ParseFloat(firstMatch(string(text), "^"+metric+` (\S+)`), 64)
		if err != nil {
			return fmt.Errorf("its metrics have no %s: %w", metric, err)
		}
		if strings.HasSuffix(key, "mib") {
			v /= 1 << 20
		}
		to.Values[name+"."+key] = v
	}
	return nil
}

// countDescriptors counts what a process has open, and how much of it is TCP.
func countDescriptors(pid int) (all, connections float64, err error) {
	tcp := map[string]bool{}
	for _, family := range []string{"tcp", "tcp6"} {
		for line := range strings.Lines(readText(fmt.Sprintf("/proc/%d/net/%s", pid, family))) {
			if fields := strings.Fields(line); len(fields) > 9 {
				tcp["socket:["+fields[9]+"]"] = true
			}
		}
	}
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, 0, err
	}
	for _, entry := range entries {
		// One that is closed meanwhile is no connection any more.
		if target, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && tcp[target] {
			connections++
		}
	}
	return float64(len(entries)), connections, nil
}

// sampleRelays finds the largest relay.
func (s *soak) sampleRelays(ctx context.Context, to *soakSample, install string) error {
	ids, err := s.dockerSays(ctx, "ps", "--quiet", "--filter", "label=nullops.kind=relay",
		"--filter", "label=nullops.install="+install)
	if err != nil {
		return err
	}
	largest := 0.0
	for id := range strings.FieldsSeq(ids) {
		text, err := s.dockerSays(ctx, "inspect", "--format", "{{.State.Pid}}", id)
		if err != nil {
			continue // its deployment was removed meanwhile
		}
		status := readText("/proc/" + text + "/status")
		if kib, err := strconv.ParseFloat(firstMatch(status, `RssAnon:\s+(\d+) kB`), 64); err == nil {
			largest = max(largest, kib/1024)
		}
	}
	to.Values["relays.largest_own_mib"] = largest
	return nil
}

// sampleDatabase asks PostgreSQL about itself.
func (s *soak) sampleDatabase(ctx context.Context, to *soakSample) error {
	ask := func(query string) (string, error) {
		return runCommand(ctx, nil, "psql", "--quiet", "--no-psqlrc", "--tuples-only", "--no-align",
			"-F", " ", "-c", query, s.databaseURL)
	}
	for name, query := range map[string]string{
		// Without the one that asks.
		"database.connections": `SELECT count(*) - 1 FROM pg_stat_activity
			WHERE datname = current_database()`,
		"database.mib": "SELECT pg_database_size(current_database()) / 1048576.0",
	} {
		text, err := ask(query)
		if err != nil {
			return err
		}
		if to.Values[name], err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	tables, err := ask(`SELECT relname, pg_total_relation_size(oid) / 1048576.0 FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
		ORDER BY pg_total_relation_size(oid) DESC LIMIT 12`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(tables) {
		name, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if to.Tables[name], err = strconv.ParseFloat(size, 64); err != nil {
			return fmt.Errorf("the size of table %s: %w", name, err)
		}
	}
	return nil
}

// sampleDisk measures the folders that we write to, and the logs of the containers.
func (s *soak) sampleDisk(to *soakSample) error {
	if s.engineRoot == "" {
		text, err := s.dockerSays(context.Background(), "info", "--format", "{{.DockerRootDir}}")
		if err != nil {
			return err
		}
		s.engineRoot = text
	}
	for name, folder := range map[string]string{"agent.data_mib": filepath.Join(s.dir, "agent"),
		"agent.tmpfs_mib":       s.shm,
		"engine.containers_mib": filepath.Join(s.engineRoot, "containers"),
		"engine.volumes_mib":    filepath.Join(s.engineRoot, "volumes")} {
		bytes, files := sizeOf(folder)
		to.Values[name] = bytes / (1 << 20)
		if name == "agent.data_mib" {
			to.Values["agent.data_files"] = files
		}
	}
	logs := 0.0
	for _, name := range soakProcesses() {
		if info, err := os.Stat(filepath.Join(s.dir, name+".log")); err == nil {
			logs += float64(info.Size())
		}
	}
	to.Values["logs_mib"] = logs / (1 << 20)
	return nil
}

// sizeOf adds up the files below a folder. What goes away meanwhile counts nothing.
func sizeOf(folder string) (bytes, files float64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += float64(info.Size())
				files++
			}
		}
		return nil
	})
	return bytes, files
}

// sampleEngine counts what we have on the engine.
func (s *soak) sampleEngine(ctx context.Context, to *soakSample, install string) error {
	for what, list := range map[string][]string{
		"containers": {"ps", "--all", "--quiet"},
		"networks":   {"network", "ls", "--quiet"},
		"volumes":    {"volume", "ls", "--quiet"},
	} {
		ids, err := s.dockerSays(ctx, append(list, "--filter", "label=nullops.install="+install)...)
		if err != nil {
			return err
		}
		to.Values["engine."+what] = float64(len(strings.Fields(ids)))
	}
	return nil
}

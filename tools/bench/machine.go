package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// machine is what the numbers depend on.
type machine struct {
	date, commit string
	facts        [][2]string
}

// describeMachine asks before anything runs, so that the load is that of others.
func describeMachine(ctx context.Context) machine {
	memory := firstMatch(readText("/proc/meminfo"), `MemTotal:\s+(\d+) kB`)
	return machine{
		date: time.Now().UTC().Format("2 January 2006, 15:04 UTC"),
		facts: [][2]string{
			{"processor", fmt.Sprintf("%s, %d cores", firstMatch(readText("/proc/cpuinfo"),
				`model name\s*: (.*)`), runtime.NumCPU())},
			{"memory", memory + " kB"},
			{"kernel", firstMatch(readText("/proc/version"), `^Linux version (\S+)`)},
			{"system", firstMatch(readText("/etc/os-release"), `PRETTY_NAME="(.*)"`)},
			{"Docker Engine", readCommand(ctx, "docker", "version", "--format", "{{.Server.Version}}")},
			{"Go", strings.TrimPrefix(runtime.Version(), "go")},
			{"nginx", firstMatch(readCommand(ctx, inPath("nginx"), "-v"), `nginx/(\S+)`)},
			{"HAProxy", firstMatch(readCommand(ctx, inPath("haproxy"), "-v"), `version (\S+)`)},
			{"Caddy", describePeer("caddy", `caddy/v2 (v\S+)`)},
			{"Traefik", describePeer("traefik", `traefik/v3 (v\S+)`)},
			{"Docker Compose", firstMatch(readText("tools/bench/compose/go.mod"), `compose/v5 (v\S+)`)},
			{"h2load", firstMatch(readCommand(ctx, "h2load", "--version"), `nghttp2/(\S+)`)},
			{"wrk", firstMatch(readCommand(ctx, "wrk", "-v"), `wrk (\S+)`)},
		},
	}
}

// describePeer is the version that a peer's module pins.
func describePeer(name, pattern string) string {
	version := firstMatch(readText("tools/bench/"+name+"/go.mod"), pattern)
	if !hasPeer(".", name) {
		return version + " could not be built here; its rows are left out"
	}
	return version
}

func (m machine) list() string {
	var b strings.Builder
	for _, f := range m.facts {
		fmt.Fprintf(&b, "- %s: %s\n", f[0], f[1])
	}
	return b.String()
}

// readCommand is the output of a small command, or a word that it could not be had.
func readCommand(ctx context.Context, argv ...string) string {
	// wrk -v prints its version and still ends with an error.
	out, _ := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if text := strings.TrimSpace(string(out)); text != "" {
		return text
	}
	return "unknown"
}

func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// firstMatch returns the pattern's last group, or all it matched.
func firstMatch(text, pattern string) string {
	found := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(text)
	if found == nil {
		return "unknown"
	}
	return found[len(found)-1]
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// networkState is what the machine's network looked like before our dockerd. A
// stopped dockerd leaves its bridge, its chains and a FORWARD policy of DROP.
type networkState struct {
	Bridge  bool   `json:"bridge"`  // docker0 existed
	Chains  bool   `json:"chains"`  // iptables had chains of Docker's
	Forward string `json:"forward"` // policy of FORWARD: ACCEPT or DROP
}

func snapshotNetwork(ctx context.Context) networkState {
	_, err := net.InterfaceByName("docker0")
	s := networkState{Bridge: err == nil}
	// Without iptables there is nothing to restore, and dockerd itself complains.
	rules, err := asRoot(ctx, nil, "iptables-save")
	if err != nil {
		s.Chains = true
		return s
	}
	s.Chains = strings.Contains(rules, ":DOCKER")
	s.Forward = "ACCEPT"
	if strings.Contains(rules, ":FORWARD DROP") {
		s.Forward = "DROP"
	}
	return s
}

const networkFile = "network.json"

// save lets a later run restore the network when this one is killed.
func (s networkState) save(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, networkFile), text, 0o600)
}

func loadNetwork(dir string) (networkState, error) {
	var s networkState
	text, err := os.ReadFile(filepath.Join(dir, networkFile))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// restore removes what the dockerd of dir added. While another dockerd is alive
// it leaves docker0 and the chains, since that one may use them by now.
func (s networkState) restore(ctx context.Context, dir string) error {
	errs := []error{dropBridges(ctx, dir)}
	if dockerdAlive() {
		return errors.Join(errs...)
	}
	if !s.Bridge {
		if _, err := net.InterfaceByName("docker0"); err == nil {
			_, err = asRoot(ctx, nil, "ip", "link", "delete", "docker0")
			errs = append(errs, err)
		}
	}
	if !s.Chains {
		errs = append(errs, dropChains(ctx, s.Forward))
	}
	return errors.Join(errs...)
}

// bridgeName is what dockerd calls the bridge of a user's network.
var bridgeName = regexp.MustCompile(`br-[0-9a-f]{12}`)

// dropBridges removes the bridges of networks that existed when the daemon ended,
// with their rules. dockerd keeps the names, and those of networks long removed,
// in a database file; they contain random ids, so no other daemon has the same.
func dropBridges(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "docker", "network", "files", "local-kv.db")
	text, err := asRoot(ctx, nil, "cat", file)
	if err != nil {
		return nil // it ended before it had any
	}
	found := bridgeName.FindAllString(text, -1)
	slices.Sort(found)
	var errs []error
	for _, name := range slices.Compact(found) {
		if _, err := net.InterfaceByName(name); err != nil {
			continue
		}
		_, err := asRoot(ctx, nil, "ip", "link", "delete", name)
		errs = append(errs, err, dropRules(ctx, name))
	}
	return errors.Join(errs...)
}

// dropRules deletes the rules that name a bridge, one by one.
func dropRules(ctx context.Context, bridge string) error {
	rules, err := asRoot(ctx, nil, "iptables-save")
	if err != nil {
		return err
	}
	var errs []error
	table := ""
	for line := range strings.Lines(rules) {
		if name, ok := strings.CutPrefix(line, "*"); ok {
			table = strings.TrimSpace(name)
		}
		rule, ok := strings.CutPrefix(line, "-A ")
		if !ok || !strings.Contains(rule, " "+bridge+" ") {
			continue
		}
		argv := append([]string{"iptables", "-t", table, "-D"}, strings.Fields(rule)...)
		_, err := asRoot(ctx, nil, argv...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func dockerdAlive() bool {
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range names {
		text, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(text)) == "dockerd" {
			return true
		}
	}
	return false
}

// dropChains writes the rule set back without Docker's part, in one atomic
// replacement per table.
func dropChains(ctx context.Context, forward string) error {
	rules, err := asRoot(ctx, nil, "iptables-save")
	if err != nil {
		return err
	}
	kept := withoutDocker(rules, forward)
	_, err = asRoot(ctx, []byte(kept), "iptables-restore")
	return err
}

// withoutDocker removes Docker's chains, the rules that jump to them or name its
// bridge, and restores the policy of FORWARD, in iptables-save's format.
func withoutDocker(rules, forward string) string {
	var kept strings.Builder
	for line := range strings.Lines(rules) {
		switch {
		case strings.HasPrefix(line, ":DOCKER"),
			strings.HasPrefix(line, "-A DOCKER"),
			strings.Contains(line, "-j DOCKER"),
			strings.Contains(line, " docker0 "),
			strings.Contains(line, " br-"):
			continue
		case strings.HasPrefix(line, ":FORWARD ") && forward != "":
			line = strings.Replace(line, ":FORWARD DROP", ":FORWARD "+forward, 1)
		}
		kept.WriteString(line)
	}
	return kept.String()
}

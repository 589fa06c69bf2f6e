package main

import (
	"context"
	"fmt"
	"os"
)

// The agent has a network namespace of its own, as if it were another machine: what goes through
// the tunnel crosses a virtual cable. These are the two ends of it.
const (
	nearAddress = "10.214.2.1"
	farAddress  = "10.214.2.2"
)

// namespace is a network namespace with a cable to ours.
type namespace struct{ name, cable string }

func newNamespace(ctx context.Context) (n namespace, err error) {
	// The names of interfaces have 15 bytes at most.
	n = namespace{name: fmt.Sprintf("nullops-bench-%d", os.Getpid()),
		cable: fmt.Sprintf("nob%d", os.Getpid())}
	for _, command := range [][]string{
		{"ip", "netns", "add", n.name},
		{"ip", "link", "add", n.cable, "type", "veth", "peer", "name", "eth0", "netns", n.name},
		{"ip", "address", "add", nearAddress + "/30", "dev", n.cable},
		{"ip", "link", "set", n.cable, "up"},
		{"ip", "-n", n.name, "address", "add", farAddress + "/30", "dev", "eth0"},
		{"ip", "-n", n.name, "link", "set", "eth0", "up"},
		{"ip", "-n", n.name, "link", "set", "lo", "up"},
	} {
		if _, err = runCommand(ctx, nil, command...); err != nil {
			return n, fmt.Errorf("give the agent a network of its own: %w", err)
		}
	}
	return n, nil
}

// enter is in front of a command that runs in there. Only the network is another one, and the
// process keeps its id.
func (n namespace) enter(argv ...string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + n.name}, argv...)
}

// remove also removes the cable.
func (n namespace) remove() error {
	if n.name == "" {
		return nil
	}
	_, err := runCommand(context.Background(), nil, "ip", "netns", "delete", n.name)
	return err
}

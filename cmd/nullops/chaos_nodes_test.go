//go:build chaos

package main_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// chaosNode is a machine: a network namespace with an engine and an agent in it, a link to the
// rest of the world, and a small disk for the agent.
type chaosNode struct {
	*node
	engine *dockertest.Daemon
	// dropped are the rules of the machine's firewall that break the link.
	dropped [][]string
	install string
}

// agentPort is where agents listen, each in its own namespace.
const agentPort = "5000"

// startNode makes a machine and enrols it. Its link is a network of two addresses, in the range
// that is reserved for tests of networks (198.18.0.0/15), and its way to everything else of this
// test.
func (c *chaos) startNode(t *testing.T, index int) *chaosNode {
	t.Helper()
	n, name := &chaosNode{engine: dockertest.StartDaemon(t)}, fmt.Sprintf("node-%d", index)
	bridgeRegistry(t, n.engine, c.product.w.registry)
	network := fmt.Sprintf("198.%d.%d.", 18+index, c.network)
	namespace := filepath.Base(n.engine.Root)
	link := "nops" + namespace[max(0, len(namespace)-8):]
	for _, args := range [][]string{
		{"link", "add", link, "type", "veth", "peer", "name", "uplink", "netns", namespace},
		{"addr", "add", network + "1/30", "dev", link},
		{"link", "set", link, "up"},
		{"-n", namespace, "addr", "add", network + "2/30", "dev", "uplink"},
		{"-n", namespace, "link", "set", "uplink", "up"},
		{"-n", namespace, "route", "add", "default", "via", network + "1"},
	} {
		runTool(t, ".", append([]string{"ip"}, args...)...)
	}
	n.node = c.product.newNode(t, name)
	n.address, n.docker = net.JoinHostPort(network+"2", agentPort), n.engine.Host
	if c.book == "" {
		c.serveEffects(t, network+"1")
	}
	n.data = agentDisk(t)
	n.binary = filepath.Join(c.product.dir, "enter-"+name)
	script := fmt.Sprintf("#!/bin/sh\nexec nsenter --net=/var/run/netns/%s %s \"$@\"\n", namespace,
		c.clocks.agents[index].wrap(t, c.clocks.binary))
	if err := os.WriteFile(n.binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var made apiclient.NodeEnrolment
	c.product.admin.want(t, http.StatusCreated, http.MethodPost, "/nodes",
		object{"name": name, "environment": "qa", "address": n.address}, &made)
	c.product.admin.put(t, "/nodes/"+name, object{"environment": "qa", "address": n.address,
		"settings": object{"disk_floor_mib": 1}}, nil)
	n.token = made.Token
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	n.install = n.node.install(t)
	return n
}

// serveEffects listens for plugins of every node on the outer end of a link.
func (c *chaos) serveEffects(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: &c.effects, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	c.book = "http://" + l.Addr().String()
}

// agentDisk is a file system that a test can fill.
func agentDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(shortDir(t), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("nullops-test", dir, "tmpfs", 0, "size=32m,mode=0700"); err != nil {
		t.Fatalf("mount the agent's disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func (n *chaosNode) ballast() string { return filepath.Join(n.data, "ballast") }

// emptyDisk ends what fillDisk did.
func (n *chaosNode) emptyDisk() error {
	if err := os.Remove(n.ballast()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// breakLink drops packets in some directions, as a broken cable or a lost route does: nobody is
// told.
func (n *chaosNode) breakLink(t *testing.T, in, out bool) {
	t.Helper()
	if in {
		n.dropped = append(n.dropped,
			[]string{"INPUT", "-i", "uplink", "-p", "tcp", "--dport", agentPort, "-j", "DROP"})
	}
	if out {
		n.dropped = append(n.dropped,
			[]string{"OUTPUT", "-o", "uplink", "-p", "tcp", "--sport", agentPort, "-j", "DROP"})
	}
	for _, rule := range n.dropped {
		n.firewall(t, "-I", rule)
	}
}

func (n *chaosNode) mendLink(t *testing.T) {
	t.Helper()
	for _, rule := range n.dropped {
		n.firewall(t, "-D", rule)
	}
	n.dropped = nil
}

func (n *chaosNode) firewall(t *testing.T, verb string, rule []string) {
	t.Helper()
	args := append([]string{"-w", "30", verb}, rule...)
	if out, err := n.engine.NetnsCommand("iptables", args...).CombinedOutput(); err != nil {
		t.Fatalf("iptables %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// clusterVariable is set by tools/kubernetes/node.sh, inside which the rows of a cluster are
// measured; elsewhere there are none.
const clusterVariable = "NULLOPS_TEST_KUBERNETES"

// clusterName is that of the environment and of the node which are the cluster.
const clusterName = "cluster"

func clusterGroups() []group {
	if os.Getenv(clusterVariable) == "" {
		return nil
	}
	return []group{{
		figures: []figure{{name: "kubernetes_deploy", unit: "s", peer: "kubectl apply, wait and run",
			better: "lower", goal: 1.0}},
		prepare: prepareClusterDeploy,
	}, {
		figures: []figure{{name: "kubernetes_plugin_step", unit: "ms", peer: "kubectl run --rm -i",
			better: "lower", goal: 0.5}},
		prepare: prepareClusterSteps,
	}}
}

func prepareClusterDeploy(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	undo, err := l.joinCluster(ctx)
	if err != nil {
		return nil, undo, err
	}
	script := func(ctx context.Context, what string) error {
		_, err := runCommand(ctx, []string{"KUBECONFIG=" + os.Getenv(clusterVariable),
			"REGISTRY=" + l.registry, "VOLUMES=" + filepath.Join(
				os.Getenv("NULLOPS_TEST_KUBERNETES_FOLDER"), "volumes")},
			filepath.Join(l.root, "tools", "bench", "peer-kubernetes.sh"), what)
		return err
	}
	do := func(ctx context.Context, s *samples) error {
		return s.inTurn(func() error {
			d, ours, err := l.deployIn(ctx, clusterName, "shop", "shop")
			if err != nil {
				return err
			}
			s.addOurs("kubernetes_deploy", ours.Seconds())
			return l.remove(ctx, d.Id)
		}, func() error {
			return timePeer(s, "kubernetes_deploy",
				func(what string) error { return script(ctx, what) })
		})
	}
	return do, func(ctx context.Context) error {
		return errors.Join(script(ctx, "down"), undo(ctx))
	}, nil
}

func prepareClusterSteps(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	undo, err := l.joinCluster(ctx)
	if err != nil {
		return nil, undo, err
	}
	image := l.registry + "/test/hostile:1.0.0"
	do := func(ctx context.Context, s *samples) error {
		return s.inTurn(func() error {
			ours, err := l.stepTime(ctx, clusterName)
			s.addOurs("kubernetes_plugin_step", toMilliseconds(ours))
			return err
		}, func() error {
			peer, err := kubectlRunTime(ctx, image, measuredSteps-1)
			s.addPeer("kubernetes_plugin_step", toMilliseconds(peer/(measuredSteps-1)))
			return err
		})
	}
	return do, undo, nil
}

// kubectlRunTime is how long so many of them take in a row.
func kubectlRunTime(ctx context.Context, image string, times int) (time.Duration, error) {
	began := time.Now()
	for i := range times {
		c := exec.CommandContext(ctx, "kubectl", "--kubeconfig="+os.Getenv(clusterVariable), "run",
			fmt.Sprintf("bench-%d", i), "--rm", "-i", "--quiet", "--restart=Never",
			"--image-pull-policy=IfNotPresent", "--image="+image)
		c.Stdin = strings.NewReader(stepInput)
		if out, err := c.CombinedOutput(); err != nil {
			return 0, errors.Join(err, errors.New(string(out)))
		}
	}
	return time.Since(began), nil
}

// joinCluster adds the cluster as a node of an environment of its own. Calling undo ends the agent.
func (l *lab) joinCluster(ctx context.Context) (undo func(context.Context) error, err error) {
	passing, err := l.lendRegistry()
	if err != nil {
		return func(context.Context) error { return nil }, err
	}
	var agent *server
	undo = func(context.Context) error { return errors.Join(agent.stop(), passing.Close()) }
	helper, err := l.publishHelper(ctx)
	if err != nil {
		return undo, err
	}
	_, err = runCommand(ctx, []string{"KUBECONFIG=" + os.Getenv(clusterVariable)}, "sh", "-c",
		`echo '{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"bench",`+
			`"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},`+
			`"provisioner":"kubernetes.io/host-path"}' | kubectl apply --filename=-`)
	if err == nil {
		err = l.apply(ctx, "cluster.yaml", "kind: environment\nname: "+clusterName+
			"\ndomain: localhost\ncapacity: {busy_cpu_percent: 100}\n")
	}
	if err != nil {
		return undo, err
	}
	if agent, err = l.startClusterAgent(ctx, helper); err != nil {
		return undo, err
	}
	return undo, agent.await(ctx, func(ctx context.Context) error {
		return l.isOnline(ctx, clusterName)
	})
}

// startClusterAgent adds the node once; its agent is started for each group.
func (l *lab) startClusterAgent(ctx context.Context, helper string) (*server, error) {
	if l.clusterToken == "" {
		var err error
		if l.clusterAddress, err = freeAddress(); err != nil {
			return nil, err
		}
		r, err := l.api.CreateNodeWithResponse(ctx, &apiclient.CreateNodeParams{},
			apiclient.NodeCreate{Name: clusterName, Environment: clusterName,
				Address: l.clusterAddress})
		if err != nil || r.JSON201 == nil {
			return nil, errors.Join(errors.New("add the cluster"), err)
		}
		l.clusterToken = r.JSON201.Token
	}
	return startServer(l.dir, "cluster-agent", []string{"AGENT_TOKEN=" + l.clusterToken}, l.binary,
		"agent", "--agent.listen="+l.clusterAddress, "--agent.runtime=kubernetes",
		"--agent.data="+filepath.Join(l.dir, "cluster-agent"), "--agent.run="+l.shm+"/cluster",
		"--agent.kubernetes.kubeconfig="+os.Getenv(clusterVariable),
		"--agent.kubernetes.helper="+helper, "--agent.probe=0s", "--agent.kubernetes.volumesize=1Gi",
		"--agent.kubernetes.admit="+os.Getenv("NULLOPS_TEST_KUBERNETES_FROM")+"/32")
}

// publishHelper puts an image with the helper of pods into the registry.
func (l *lab) publishHelper(ctx context.Context) (image string, err error) {
	folder, image := filepath.Join(l.dir, "helper"), l.registry+"/bench/helper:1"
	archive := folder + ".tar"
	for _, command := range [][]string{
		{"env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags", "-s -w", "-o",
			filepath.Join(folder, "app", "sidecar"), filepath.Join(l.root, "cmd", "sidecar")},
		{"tar", "-C", folder, "-cf", archive, "app"},
		{"docker", "--host", l.docker, "import", archive, image},
		{"docker", "--host", l.docker, "push", "--quiet", image},
	} {
		if _, err := runCommand(ctx, nil, command...); err != nil {
			return "", err
		}
	}
	return image, nil
}

// lendRegistry has the cluster's machine find our registry, which is on the loopback interface,
// under the name that it has here.
func (l *lab) lendRegistry() (io.Closer, error) {
	listener, err := net.Listen("tcp",
		net.JoinHostPort(os.Getenv("NULLOPS_TEST_KUBERNETES_FROM"), "0"))
	if err != nil {
		return nil, err
	}
	hosts := filepath.Join(os.Getenv("NULLOPS_TEST_KUBERNETES_FOLDER"), "certs.d", l.registry)
	at := listener.Addr().String()
	if err = os.MkdirAll(hosts, 0o755); err == nil {
		err = os.WriteFile(filepath.Join(hosts, "hosts.toml"), fmt.Appendf(nil, "server = "+
			"\"http://%s\"\n[host.\"http://%s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", at, at),
			0o644)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go passConnection(in, l.registry)
		}
	}()
	return listener, nil
}

func passConnection(in net.Conn, to string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	go func() { _, _ = io.Copy(out, in) }()
	_, _ = io.Copy(in, out)
}

// isOnline fails unless the node of that name is online.
func (l *lab) isOnline(ctx context.Context, name string) error {
	r, err := l.api.ListNodesWithResponse(ctx, &apiclient.ListNodesParams{})
	if err != nil {
		return err
	}
	online := r.JSON200 != nil && slices.ContainsFunc(r.JSON200.Items, func(n apiclient.Node) bool {
		return n.Name == name && n.Status == apiclient.NodeStatusOnline
	})
	if !online {
		return errors.New("the node is not online: " + string(r.Body))
	}
	return nil
}

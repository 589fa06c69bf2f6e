package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// lab is the product as the measurements use it, all of it on this machine.
type lab struct {
	root, binary         string
	dir, shm             string // temporary; shm is never on a disk
	docker, registry     string
	postgres, name       string // the server's URL, and the name of our database in it
	settings             []string
	uiURL, ui            string
	ingressAddr, address string // where the ingress and the agent listen
	secure               string // where the ingress speaks TLS
	token, bearer        string
	tellSteps            bool
	crowd                int               // how many deployments the crowd has
	metrics              map[string]string // where each process shows its numbers; none is off
	small                bool
	founded              bool // the database is filled, see company.go
	databaseURL          string
	api                  *apiclient.ClientWithResponses
	others               neighbours
	far                  namespace // where the agent is
	// clusterToken and clusterAddress are of the agent that works on a cluster.
	clusterToken, clusterAddress string

	controlPlane, ingress, agent *server
}

func newLab(o options) (*lab, error) {
	root, err := os.Getwd()
	if err == nil {
		o.binary, err = filepath.Abs(o.binary)
	}
	if err != nil {
		return nil, err
	}
	l := &lab{root: root, binary: o.binary, tellSteps: o.steps,
		crowd: o.chooseSize(crowd, 6), small: o.small,
		docker: os.Getenv("NULLOPS_TEST_DOCKER"), registry: os.Getenv("NULLOPS_TEST_REGISTRY"),
		postgres: os.Getenv("NULLOPS_TEST_POSTGRES"), name: fmt.Sprintf("nullops_bench_%d", os.Getpid())}
	l.others = newNeighbours(l.docker)
	if l.docker == "" || l.registry == "" || l.postgres == "" {
		return nil, errors.New("run it with `make bench`, which starts Docker, PostgreSQL and a registry")
	}
	if _, err := os.Stat(l.binary); err != nil {
		return nil, fmt.Errorf("%w: run `make build` first", err)
	}
	// The run folder must be a tmpfs, or the agent refuses it.
	if l.shm, err = os.MkdirTemp("/dev/shm", "nullops-bench-"); err != nil {
		return nil, err
	}
	if l.dir, err = os.MkdirTemp("", "nullops-bench-"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.shm))
	}
	for _, address := range []*string{&l.ui, &l.ingressAddr, &l.address, &l.secure} {
		if *address, err = freeAddress(); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	l.uiURL = "http://" + l.ui
	return l, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// start brings everything up and defines what is going to be deployed.
func (l *lab) start(ctx context.Context) error {
	var err error
	if l.far, err = newNamespace(ctx); err != nil {
		return err
	}
	l.address = farAddress + ":" + portOf(l.address)
	for _, step := range []func(context.Context) error{l.database, l.startControlPlane, l.signIn,
		l.define, l.enrol, l.startIngress} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close stops what was started, the latest first, and removes what it left. The caller that waited
// shows the logs of a failure.
func (l *lab) close() error {
	errs := []error{l.ingress.stop(), l.agent.stop(), l.controlPlane.stop(), l.far.remove()}
	if l.settings != nil {
		_, err := runCommand(context.Background(), nil, "dropdb", "--maintenance-db", l.postgres, l.name)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.RemoveAll(l.shm), os.RemoveAll(l.dir))...)
}

// runCommand runs a program to its end; its output is part of an error.
func runCommand(ctx context.Context, env []string, argv ...string) (string, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = append(os.Environ(), env...)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", strings.Join(argv, " "), err, out.String(),
			errOut.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// docker runs the command line of the engine that everybody uses here.
func (l *lab) dockerSays(ctx context.Context, args ...string) (string, error) {
	return runCommand(ctx, nil, append([]string{"docker", "--host", l.docker}, args...)...)
}

func (l *lab) database(ctx context.Context) error {
	_, err := runCommand(ctx, nil, "createdb", "--maintenance-db", l.postgres, l.name)
	if err != nil {
		return err
	}
	at, err := url.Parse(l.postgres)
	if err != nil {
		return fmt.Errorf("NULLOPS_TEST_POSTGRES: %w", err)
	}
	at.Path = "/" + l.name
	l.databaseURL = at.String()
	keys, err := runCommand(ctx, nil, l.binary, "keys", "new")
	if err != nil {
		return err
	}
	l.settings = []string{"DATABASE_URL=" + l.databaseURL, "NULLOPS_MASTER_KEYS=" + keys,
		"NULLOPS_HTTP_LISTEN=" + l.ui, "NULLOPS_HTTP_URL=" + l.uiURL,
		// All listeners of the bench come from one address, which gets an eighth.
		"NULLOPS_HTTP_CONNECTIONS=400000",
		"NULLOPS_INGRESS_SECURE=" + l.secure, "NULLOPS_INGRESS_LISTEN=" + l.ingressAddr,
		"NULLOPS_INGRESS_URL=http://localhost:" + portOf(l.ingressAddr)}
	return nil
}

func (l *lab) startControlPlane(ctx context.Context) (err error) {
	l.controlPlane, err = startServer(l.dir, "controlplane", l.settings, l.binary, "controlplane",
		"--metrics.listen="+l.metrics["controlplane"])
	if err != nil {
		return err
	}
	return l.controlPlane.await(ctx, func(ctx context.Context) error {
		return checkAnswer(ctx, l.uiURL+"/readyz", "")
	})
}

func (l *lab) startAgent(ctx context.Context) (err error) {
	// Rules of the machine's firewall would stay; a probe would be measured too.
	l.agent, err = startServer(l.dir, "agent", []string{"AGENT_TOKEN=" + l.token},
		l.far.enter(l.binary, "agent", "--agent.listen="+l.address,
			"--agent.data="+filepath.Join(l.dir, "agent"), "--agent.run="+l.shm,
			"--agent.docker="+l.docker, "--agent.guard=false", "--agent.probe=0s",
			"--agent.sockets="+l.sockets(), "--metrics.listen="+l.metrics["agent"])...)
	if err != nil {
		return err
	}
	return l.agent.await(ctx, l.nodeOnline)
}

// checkAnswer asks a URL; a status of 400 and above is an error.
func checkAnswer(ctx context.Context, url, host string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Host = host
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		return errors.New(url + " answered " + response.Status)
	}
	return nil
}

var passwordLine = regexp.MustCompile(`user admin, password (\S+)`)

func (l *lab) signIn(ctx context.Context) error {
	password, err := l.controlPlane.awaitOutput(ctx, passwordLine)
	if err != nil {
		return err
	}
	l.api, err = apiclient.NewClientWithResponses(l.uiURL,
		apiclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			if l.bearer != "" {
				r.Header.Set("Authorization", "Bearer "+l.bearer)
			}
			return nil
		}))
	if err != nil {
		return err
	}
	r, err := l.api.CreateTokenWithResponse(ctx,
		apiclient.TokenCreate{User: "admin", Password: password, Name: "bench"})
	if err != nil || r.JSON201 == nil {
		return errors.Join(errors.New("sign in"), err)
	}
	l.bearer = r.JSON201.Token
	return nil
}

// define applies the example and the projects that only measurements need.
func (l *lab) define(ctx context.Context) error {
	path := filepath.Join(l.dir, "bench.yaml")
	text, err := writeDocuments(l.root, l.dir)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		return err
	}
	_, err = runCommand(ctx, l.cli(), l.binary, "apply", "-f", "deploy/examples/shop",
		"--set", "registry/local.host="+l.registry)
	if err == nil {
		_, err = runCommand(ctx, l.cli(), l.binary, "apply", "-f", path)
	}
	return err
}

// cli is the environment of our own commands.
func (l *lab) cli() []string {
	return []string{"NULLOPS_CLI_URL=" + l.uiURL, "NULLOPS_CLI_TOKEN=" + l.bearer}
}

// apply defines what only some measurements need.
func (l *lab) apply(ctx context.Context, name, text string) error {
	path := filepath.Join(l.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := runCommand(ctx, l.cli(), l.binary, "apply", "-f", path)
	return err
}

func (l *lab) enrol(ctx context.Context) error {
	r, err := l.api.CreateNodeWithResponse(ctx, &apiclient.CreateNodeParams{},
		apiclient.NodeCreate{Name: "bench", Environment: "qa", Address: l.address})
	if err != nil || r.JSON201 == nil {
		return errors.Join(errors.New("add a node"), err)
	}
	l.token = r.JSON201.Token
	return l.startAgent(ctx)
}

func (l *lab) nodeOnline(ctx context.Context) error { return l.isOnline(ctx, "bench") }

// inspect reads one field of the deployment's container of a kind and step.
func (l *lab) inspect(ctx context.Context, deployment, kind, step, format string) (string, error) {
	args := []string{"ps", "--quiet", "--filter", "label=nullops.deployment=" + deployment,
		"--filter", "label=nullops.kind=" + kind}
	if step != "" {
		args = append(args, "--filter", "label=nullops.step="+step)
	}
	id, err := l.dockerSays(ctx, args...)
	if err != nil {
		return "", err
	}
	if id == "" || strings.Contains(id, "\n") {
		return "", fmt.Errorf("deployment %s: not one %s %s: %q", deployment, kind, step, id)
	}
	return l.dockerSays(ctx, "inspect", "--format", format, id)
}

func (l *lab) relayPID(ctx context.Context, deployment string) (int, error) {
	text, err := l.inspect(ctx, deployment, "relay", "", "{{.State.Pid}}")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

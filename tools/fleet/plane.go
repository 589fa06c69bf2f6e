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
	"strings"
	"syscall"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// plane is a control plane as it is installed: a process, with PostgreSQL.
type plane struct {
	dir, binary, database, name string
	address, metrics, url       string
	settings                    []string
	api                         *apiclient.ClientWithResponses
	bearer                      string
	// people keep their connections, as browsers do.
	people  http.Client
	process *exec.Cmd
	ended   chan struct{}
}

func newPlane(ctx context.Context, dir, binary, postgres string) (*plane, error) {
	p := &plane{dir: dir, binary: binary, database: postgres,
		name: fmt.Sprintf("nullops_fleet_%d", os.Getpid())}
	var err error
	for _, a := range []*string{&p.address, &p.metrics} {
		if *a, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	p.url = "http://" + p.address
	p.people.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
	if _, err := runCommand(ctx, "createdb", "--maintenance-db", postgres, p.name); err != nil {
		return nil, err
	}
	at, err := url.Parse(postgres)
	if err != nil {
		return nil, fmt.Errorf("NULLOPS_TEST_POSTGRES: %w", err)
	}
	at.Path = "/" + p.name
	keys, err := runCommand(ctx, binary, "keys", "new")
	if err != nil {
		return nil, err
	}
	p.settings = []string{"DATABASE_URL=" + at.String(), "NULLOPS_MASTER_KEYS=" + keys,
		"NULLOPS_HTTP_LISTEN=" + p.address, "NULLOPS_HTTP_URL=" + p.url,
		"NULLOPS_METRICS_LISTEN=" + p.metrics}
	return p, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// runCommand runs a small program to its end.
func runCommand(ctx context.Context, argv ...string) (string, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, problems.String())
	}
	return strings.TrimSpace(out.String()), nil
}

func (p *plane) log() string { return filepath.Join(p.dir, "controlplane.log") }

// start runs the process until it says that it is ready.
func (p *plane) start(ctx context.Context) error {
	file, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	defer file.Close()
	p.process = exec.Command(p.binary, "controlplane")
	p.process.Env = append(os.Environ(), p.settings...)
	p.process.Stdout, p.process.Stderr = file, file
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := p.process.Start(); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	ended := make(chan struct{})
	p.ended = ended
	go func() { _ = p.process.Wait(); close(ended) }()
	return p.await(ctx, time.Minute, func() bool {
		r, err := http.Get(p.url + "/readyz")
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil && r.StatusCode == http.StatusOK
	})
}

func (p *plane) await(ctx context.Context, most time.Duration, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for !is() {
		select {
		case <-p.ended:
			return errors.New("the control plane ended by itself:\n" + p.tail())
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w\n%s", most, ctx.Err(), p.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (p *plane) tail() string {
	text, _ := os.ReadFile(p.log())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// stop ends the process, or kills it.
func (p *plane) stop(how syscall.Signal) {
	if p.process == nil {
		return
	}
	_ = p.process.Process.Signal(how)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = p.process.Process.Kill()
		<-p.ended
	}
	p.process = nil
}

func (p *plane) close() error {
	p.stop(syscall.SIGTERM)
	_, err := runCommand(context.Background(), "dropdb", "--maintenance-db", p.database, p.name)
	return err
}

var passwordLine = regexp.MustCompile(`user admin, password (\S+)`)

func (p *plane) signIn(ctx context.Context) error {
	var password string
	err := p.await(ctx, time.Minute, func() bool {
		text, _ := os.ReadFile(p.log())
		if m := passwordLine.FindSubmatch(text); m != nil {
			password = string(m[1])
		}
		return password != ""
	})
	if err != nil {
		return err
	}
	p.api, err = apiclient.NewClientWithResponses(p.url,
		apiclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			if p.bearer != "" {
				r.Header.Set("Authorization", "Bearer "+p.bearer)
			}
			return nil
		}))
	if err != nil {
		return err
	}
	r, err := p.api.CreateTokenWithResponse(ctx,
		apiclient.TokenCreate{User: "admin", Password: password, Name: "fleet"})
	if err != nil || r.JSON201 == nil {
		return errors.Join(errors.New("sign in"), err)
	}
	p.bearer = r.JSON201.Token
	return nil
}

// command is the user's own command line.
func (p *plane) command(ctx context.Context, args ...string) error {
	c := exec.CommandContext(ctx, p.binary, args...)
	c.Env = append(os.Environ(), "NULLOPS_CLI_URL="+p.url, "NULLOPS_CLI_TOKEN="+p.bearer)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("nullops %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Command shell is a plugin that runs a command and returns what it prints. The
// command runs inside the plugin's own container, with its limits and without
// privileges, so what it can use is what the image holds: put this program on
// any image with
//
//	nullops plugin build plugins/shell --from debian:12 --tag …
//
// The image that comes with NullOps holds BusyBox. Standard output becomes the
// outputs: one JSON object if it is one and nothing else, otherwise the text as
// output "stdout". Standard error is the log. Delete runs the command
// "delete_command" if there is one.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: runCommand, Delete: runDeleteCommand})
}

type parameters struct {
	Command       []string          `json:"command"`
	DeleteCommand []string          `json:"delete_command"`
	Env           map[string]string `json:"env"`
	Folder        string            `json:"folder"`
}

// maxOutput leaves room in an answer for what JSON makes of it.
const maxOutput = 128 << 10

// grace is how long a command has to end after SIGTERM; the agent gives the
// whole plugin ten seconds.
const grace = 5 * time.Second

func runCommand(ctx context.Context, req stdio.Request, _ *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	out, err := runProgram(ctx, p, p.Command, req)
	if err != nil {
		return stdio.Response{}, err
	}
	outputs, err := asOutputs(out)
	if err != nil {
		return stdio.Response{}, err
	}
	return stdio.Response{
		Success: true, Output: p.Command[0] + " ended well", Outputs: outputs,
	}, nil
}

func runDeleteCommand(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	if len(p.DeleteCommand) == 0 {
		return stdio.NothingToUndo(ctx, req, log)
	}
	if _, err := runProgram(ctx, p, p.DeleteCommand, req); err != nil {
		return stdio.Response{}, err
	}
	return stdio.Response{Success: true, Output: p.DeleteCommand[0] + " ended well"}, nil
}

func readParameters(req stdio.Request) (parameters, error) {
	p := parameters{Folder: "/tmp"}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	if len(p.Command) == 0 || p.Command[0] == "" {
		return p, errors.New("parameter \"command\" is required: a list such as " +
			"[\"sh\", \"-c\", \"echo hello\"]")
	}
	for name := range p.Env {
		if !variableName().MatchString(name) {
			return p, fmt.Errorf("parameter \"env\": %q is not the name of a variable", name)
		}
	}
	return p, nil
}

func variableName() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) }

// runProgram returns the command's standard output. Secrets and earlier outputs reach it as
// environment variables, which end with the container; no other container can list them.
func runProgram(
	ctx context.Context,
	p parameters,
	command []string,
	req stdio.Request,
) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = programEnv(p, req)
	cmd.Dir = p.Folder
	out := &limited{}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.full:
		return nil, fmt.Errorf("%s printed more than %d bytes; logs belong on stderr",
			command[0], maxOutput)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &exit) && exit.Exited():
		return nil, fmt.Errorf("%s ended with exit code %d", command[0], exit.ExitCode())
	case err != nil:
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	return out.kept.Bytes(), nil
}

// programEnv holds the image's own variables, what the pipeline gives, and the
// secrets under their names.
func programEnv(p parameters, req stdio.Request) []string {
	env := os.Environ()
	for name, value := range p.Env {
		env = append(env, name+"="+value)
	}
	for name, value := range req.Secrets {
		env = append(env, name+"="+value)
	}
	earlier, _ := json.Marshal(req.Outputs) // it came from JSON
	// Of two settings of a name the last counts.
	env = append(env, "NULLOPS_ACTION="+string(req.Action), "NULLOPS_OUTPUTS="+string(earlier),
		"NULLOPS_DEPLOYMENT="+req.Deployment.Name, "NULLOPS_DOMAIN="+req.Deployment.Domain)
	return env
}

// asOutputs takes one JSON object apart; anything else is text.
func asOutputs(out []byte) (map[string]any, error) {
	if !utf8.Valid(out) || bytes.IndexByte(out, 0) >= 0 {
		return nil, errors.New("the command's standard output is not text in UTF-8")
	}
	text := strings.TrimRight(string(out), "\r\n")
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var outputs map[string]any
	if err := decoder.Decode(&outputs); err == nil && outputs != nil {
		if _, more := decoder.Token(); errors.Is(more, io.EOF) {
			return outputs, nil
		}
	}
	return map[string]any{"stdout": text}, nil
}

// limited keeps the first bytes and then refuses, which ends the command.
type limited struct {
	// Not embedded: its ReadFrom would go around the limit.
	kept bytes.Buffer
	full bool
}

func (l *limited) Write(b []byte) (int, error) {
	if l.kept.Len()+len(b) > maxOutput {
		l.full = true
		return 0, errors.New("too much")
	}
	return l.kept.Write(b)
}

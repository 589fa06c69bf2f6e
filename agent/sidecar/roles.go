package sidecar

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
)

// Exit codes of the binary. They are in the range that shells leave to the
// started program's environment, so that they are not mistaken for the codes
// of an image's own process.
const (
	exitUsage   = 120
	exitRelay   = 121
	exitSecrets = 122
	exitListen  = 123
	exitOutput  = 119
	exitSockets = 118
	exitLend    = 117
	// exitNoGo is that of a sandbox that never got its go signal.
	exitNoGo = 116
	// ExitUnreachable is the exit code of the reach role when the target did not answer.
	ExitUnreachable = 124
	// exitInside is that of the inside role, whose frames tell all the rest.
	exitInside = 125
	// exitNotFound and exitNotExecutable are what shells use.
	exitNotFound      = 127
	exitNotExecutable = 126
)

// relayGC makes Go collect after 400 KiB instead of 4 MiB. Each deployment has a relay, so their
// garbage adds up; a relay keeps almost nothing, so that collecting is cheap.
const relayGC = 10

// errUsage is shown when the binary is started with wrong arguments.
var errUsage = errors.New("usage: sidecar relay SOCKET [MAILPORT] | " +
	"sidecar init ENVFILE -- COMMAND [ARG]… | " +
	"sidecar check ENVFILE FOLDER -- COMMAND [ARG]… | sidecar check-output FOLDER | " +
	"sidecar loopback PORT | sidecar listen PORT [SECONDS] | sidecar reach ADDRESS:PORT | " +
	"sidecar sandbox -- COMMAND [ARG]… | sidecar inside ENVFILE | sidecar lend SOCKET PARENT NAME | " +
	"sidecar place FOLDER [DELIVERY] | sidecar accept DELIVERY | sidecar hold pod | " +
	"sidecar oom-kills pod | sidecar mail PORT AGENTPORT | " +
	"sidecar pack FOLDER | sidecar unpack FOLDER | " +
	"sidecar run-job FOLDER PATTERN -- COMMAND [ARG]… | sidecar run-plugin pod | " +
	"sidecar volume-bytes FOLDER | sidecar populate JSON | sidecar stop-signal NAME [WITHIN]")

// Run performs the role named by args (without the program's name) and
// returns the exit code. The init role does not return when it succeeds.
func Run(args []string, stderr io.Writer) int {
	err := runRole(args)
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*exitError](err)
	if ok && e.err == nil {
		return e.code
	}
	_, _ = io.WriteString(stderr, "nullops: "+err.Error()+"\n")
	if ok {
		return e.code
	}
	return exitUsage
}

func runRole(args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	if args[0] == "init" {
		if len(args) < 4 || args[2] != "--" {
			return errUsage
		}
		return execCommand(args[1], args[3:])
	}
	if args[0] == "sandbox" {
		if len(args) < 3 || args[1] != "--" {
			return errUsage
		}
		return runSandbox(args[2:], os.Stdin)
	}
	if args[0] == "run-job" {
		if len(args) < 5 || args[3] != "--" {
			return errUsage
		}
		// Before SIGTERM is handled: the job gets it.
		return runJob(args[1], args[2], args[4:])
	}
	if args[0] == "run-plugin" {
		// Before SIGTERM is handled: the plugin gets it.
		return servePlugin(os.Stdin, os.Stdout)
	}
	if args[0] == "check" {
		if len(args) < 5 || args[3] != "--" {
			return errUsage
		}
		// Before SIGTERM is handled: it ends the check.
		return checkHealth(args[1], args[2], args[4:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if is, err := runPodRole(ctx, args); is {
		return err
	}
	switch args[0] {
	case "relay", "gate": // gate is what earlier releases called it
		debug.SetGCPercent(relayGC)
		runtime.GOMAXPROCS(1)
		mailPort := ""
		if len(args) > 2 {
			mailPort = args[2]
		}
		if err := ServeRelay(ctx, args[1], mailPort); err != nil {
			return &exitError{code: exitRelay, err: err}
		}
		return nil
	case "listen":
		if err := listenRole(ctx, args[1], args[2:]); err != nil {
			return &exitError{code: exitListen, err: err}
		}
		return nil
	case "reach":
		return reachRole(ctx, args[1])
	case "lend":
		if len(args) != 4 {
			return errUsage
		}
		if err := lendFolder(ctx, args[1], args[2], args[3]); err != nil {
			return &exitError{code: exitLend, err: err}
		}
		return nil
	case "inside":
		if err := serveInside(os.Stdin, os.Stdout, args[1]); err != nil {
			return &exitError{code: exitInside, err: err}
		}
		return nil
	case "loopback":
		if err := printLoopbackOnly(args[1], os.Stdout); err != nil {
			return &exitError{code: exitSockets, err: err}
		}
		return nil
	case "check-output":
		if err := printCheckOutput(args[1], os.Stdout); err != nil {
			return &exitError{code: exitOutput, err: err}
		}
		return nil
	}
	return errUsage
}

// exitError is an error that knows its exit code. Without an error in it, nothing
// is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "exit code " + strconv.Itoa(e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

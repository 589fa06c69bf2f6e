package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Handler does one action. It logs to log, which writes lines to stderr, and
// returns either an answer or an error; the error's text becomes the answer's
// output, so it must hold no secret. The context ends when the agent asks the
// plugin to stop (SIGTERM), some seconds before it is killed.
type Handler func(ctx context.Context, req Request, log *slog.Logger) (Response, error)

// Handlers are a plugin's actions. A nil Delete or Check answers that it is not
// offered; list the same actions in component.json.
type Handlers struct {
	Create Handler
	Delete Handler
	Check  Handler
}

// NothingToUndo is the Delete of a plugin that changes nothing outside: saying so
// is better than leaving people to wonder what the removal forgot.
func NothingToUndo(context.Context, Request, *slog.Logger) (Response, error) {
	return Response{Success: true, Output: "there is nothing to undo"}, nil
}

// Exit codes of a plugin that uses Main.
const (
	ExitSuccess = 0
	ExitFailed  = 1 // the handler said no; stdout says why
	ExitUsage   = 2 // stdin was not a request; stdout says why
)

// Main is a plugin's main function: it reads one request from stdin, calls the handler,
// writes one answer to stdout and ends the process. SIGTERM and SIGINT end the handler's
// context.
func Main(h Handlers) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := ServeOn(ctx, h, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// ServeOn is Main on the given streams, for tests; it returns the exit code.
func ServeOn(ctx context.Context, h Handlers, in io.Reader, out, errOut io.Writer) int {
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{ReplaceAttr: plainLines}))
	req, err := ReadRequest(in)
	if err != nil {
		return writeAnswer(out, log, Response{Output: err.Error()}, ExitUsage)
	}
	resp, err := callHandler(ctx, h, req, log)
	if err != nil {
		resp.Success, resp.Output = false, err.Error()
	}
	if !resp.Success {
		return writeAnswer(out, log, resp, ExitFailed)
	}
	return writeAnswer(out, log, resp, ExitSuccess)
}

func callHandler(ctx context.Context, h Handlers, req Request, log *slog.Logger) (
	resp Response, err error,
) {
	// A panic would print a trace and no answer, and the trace could hold
	// values; one sentence is what the user can act on.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the plugin crashed: %v", p)
		}
	}()
	do := map[Action]Handler{
		ActionCreate: h.Create, ActionDelete: h.Delete, ActionCheck: h.Check,
	}[req.Action]
	if do == nil {
		return Response{}, fmt.Errorf("this plugin does not offer the action %q", req.Action)
	}
	resp, err = do(ctx, req, log)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		err = fmt.Errorf("stopped before it was finished: %w", err)
	}
	return resp, err
}

func writeAnswer(out io.Writer, log *slog.Logger, resp Response, code int) int {
	if err := WriteResponse(out, resp); err != nil {
		log.Error("answer", "error", err)
		return ExitFailed
	}
	return code
}

// plainLines drops the time: the agent stamps each line as it arrives, and two
// clocks on one line only confuse.
func plainLines(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func execCommand() *cobra.Command {
	var noTTY bool
	c := &cobra.Command{
		Use:   "exec DEPLOYMENT SERVICE [-- COMMAND [ARG]…]",
		Short: "Run a command in a service, or open a terminal in it",
		Long: "Runs a command in a service's container, without one the best shell its image has. It\n" +
			"takes full access, the audit log records it, and whatever it started ends with the connection.",
		Args: cobra.MinimumNArgs(2), ValidArgsFunction: completeService,
		Example: "  nullops exec daily db -- psql -U postgres\n" +
			"  nullops exec daily db -- pg_dump app > app.sql",
	}
	c.Flags().BoolVarP(&noTTY, "no-tty", "T", false, "give the command no terminal")
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, args []string,
	) error {
		tty := !noTTY && output.IsTerminal(os.Stdin) && output.IsTerminal(os.Stdout)
		return api.runInside(c, d.Id, args[0], args[1:], tty)
	})
}

// greeting is the first message of a connection into a service.
type greeting struct {
	Ticket  string                 `json:"ticket"`
	Command []string               `json:"command,omitempty"`
	TTY     bool                   `json:"tty,omitempty"`
	Window  apiclient.TerminalSize `json:"window,omitzero"`
}

// openReach asks for a ticket and opens the connection that it is for. Neither the
// token nor the ticket is ever in a URL.
func (c *client) openReach(ctx context.Context, deployment, service string,
	wish apiclient.ReachTicketCreate, g greeting) (*websocket.Conn, error) {
	r, err := c.CreateReachTicketWithResponse(ctx, deployment, service, wish)
	if err := checkAnswer(r, err); err != nil {
		return nil, err
	}
	ws, answer, err := websocket.Dial(ctx, strings.TrimRight(c.login.URL, "/")+"/api/v1/reach",
		&websocket.DialOptions{HTTPClient: c.http,
			HTTPHeader: http.Header{"Authorization": {"Bearer " + c.login.Token}}})
	if err != nil {
		if answer != nil && answer.Body != nil && answer.StatusCode >= 400 {
			body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
			return nil, problemOf(answer.StatusCode, answer.Status, body)
		}
		return nil, fmt.Errorf("open the connection: %w", err)
	}
	ws.SetReadLimit(apiclient.MaxFrame + 1)
	g.Ticket = r.JSON201.Ticket
	if err := sendGreeting(ctx, ws, g); err != nil {
		_ = ws.CloseNow()
		return nil, err
	}
	return ws, nil
}

func sendGreeting(ctx context.Context, ws *websocket.Conn, g greeting) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if err := ws.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("open the connection: %w", err)
	}
	_, first, err := ws.Read(ctx)
	if err != nil {
		return fmt.Errorf("open the connection: %w", err)
	}
	var said struct {
		Problem *apiclient.Problem `json:"problem"`
	}
	if err := json.Unmarshal(first, &said); err != nil {
		return fmt.Errorf("open the connection: %w", err)
	}
	if said.Problem != nil {
		return &problemError{*said.Problem}
	}
	return nil
}

// runInside runs a command until it ends, and ends with its exit code.
func (c *client) runInside(
	cmd *cobra.Command, deployment, service string, command []string, tty bool,
) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	g := greeting{Command: command, TTY: tty}
	if tty {
		g.Window = windowOf(os.Stdout)
	}
	ws, err := c.openReach(ctx, deployment, service,
		apiclient.ReachTicketCreate{Kind: apiclient.ReachTicketCreateKindTerminal}, g)
	if err != nil {
		return err
	}
	defer func() { _ = ws.CloseNow() }()
	s := &session{ws: ws, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
	if tty {
		restore, err := s.makeRaw(ctx)
		if err != nil {
			return err
		}
		defer restore()
	}
	// It ends with the process: a read from a terminal cannot be called back.
	go s.sendInput(ctx)
	return s.receiveOutput(ctx)
}

// session is the person's end of a command.
type session struct {
	ws       *websocket.Conn
	in       io.Reader
	out, err io.Writer
	writing  sync.Mutex
}

func (s *session) writeFrame(ctx context.Context, kind apiclient.FrameKind, data []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.ws.Write(ctx, websocket.MessageBinary, append([]byte{byte(kind)}, data...))
}

func (s *session) sendInput(ctx context.Context) {
	buffer := make([]byte, apiclient.MaxFrame/2)
	for {
		n, err := s.in.Read(buffer)
		if n > 0 && s.writeFrame(ctx, apiclient.FrameInput, buffer[:n]) != nil {
			return
		}
		if err != nil {
			_ = s.writeFrame(ctx, apiclient.FrameEnd, nil)
			return
		}
	}
}

func (s *session) receiveOutput(ctx context.Context) error {
	for {
		_, data, err := s.ws.Read(ctx)
		if err != nil {
			var closed websocket.CloseError
			if errors.As(err, &closed) && closed.Reason != "" {
				return errors.New("the connection ended: " + closed.Reason)
			}
			return fmt.Errorf("the connection ended: %w", err)
		}
		if len(data) == 0 {
			continue
		}
		switch apiclient.FrameKind(data[0]) {
		case apiclient.FrameOutput:
			_, err = s.out.Write(data[1:])
		case apiclient.FrameErrors:
			_, err = s.err.Write(data[1:])
		case apiclient.FrameExit:
			return exitError(data[1:])
		}
		if err != nil {
			return err
		}
	}
}

// exitError passes the command's exit code on.
func exitError(data []byte) error {
	var end apiclient.CommandExit
	if err := json.Unmarshal(data, &end); err != nil {
		return fmt.Errorf("read how it ended: %w", err)
	}
	switch {
	case end.Message != "":
		return exit.WithCode(errors.New(end.Message), end.Code)
	case end.Code != 0:
		return exit.WithCode(exit.ErrSilent, end.Code)
	}
	return nil
}

// makeRaw sends every key to the service, and window changes too.
func (s *session) makeRaw(ctx context.Context) (restore func(), err error) {
	before, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	changed := make(chan os.Signal, 1)
	notifyResize(changed)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
				if size, err := json.Marshal(windowOf(os.Stdout)); err == nil {
					_ = s.writeFrame(ctx, apiclient.FrameWindow, size)
				}
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
		_ = term.Restore(int(os.Stdin.Fd()), before)
	}, nil
}

func windowOf(f *os.File) apiclient.TerminalSize {
	cols, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return apiclient.TerminalSize{}
	}
	return apiclient.TerminalSize{Cols: uint16(cols), Rows: uint16(rows)}
}

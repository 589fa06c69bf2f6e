package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/mask"
)

// Limits of what a machine may say.
const (
	maxOutput = 48 << 10
	maxLine   = 4 << 10
)

// sshMachine is a signed-in connection.
type sshMachine struct {
	client *ssh.Client
	// sudo is put before what root must do; nil where the user is root.
	sudo []string
	// password answers sudo; empty where it asks for none.
	password controlplane.Plain
	// say shows a line to people; masker hides the secrets in it that are known by now.
	say    func(line string)
	masker func() *mask.Masker
}

// quoteWord makes one word for the shell that sshd hands every command line to.
func quoteWord(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteWord(word)
	}
	return strings.Join(quoted, " ")
}

// runAsUser runs a program to its end as the user who signed in.
func (m *sshMachine) runAsUser(ctx context.Context, words ...string) (string, error) {
	return m.runCommand(ctx, nil, words, words[0])
}

// runAsRoot runs a program as root.
func (m *sshMachine) runAsRoot(ctx context.Context, words ...string) (string, error) {
	var in io.Reader
	if len(m.sudo) > 0 && !m.password.IsEmpty() {
		in = strings.NewReader(m.password.Reveal() + "\n")
	}
	return m.runCommand(ctx, in, append(append([]string{}, m.sudo...), words...), words[0])
}

// runCommand runs a command line. What it prints is shown line by line; its standard
// output is given back, up to a limit. Login scripts may add to both.
func (m *sshMachine) runCommand(
	ctx context.Context, in io.Reader, words []string, program string,
) (string, error) {
	session, err := m.client.NewSession()
	if err != nil {
		return "", fmt.Errorf("begin %s: %w", program, err)
	}
	defer func() { _ = session.Close() }() // ended already, or of no more use
	masker := m.masker()
	out, errs := &collector{say: m.say, masker: masker}, &collector{say: m.say, masker: masker}
	session.Stdout, session.Stderr, session.Stdin = out, errs, in
	stop := context.AfterFunc(ctx, func() { _ = session.Close() }) // wakes Run
	defer stop()
	err = session.Run("LC_ALL=C " + commandLine(words))
	out.flushRest()
	errs.flushRest()
	text := out.text()
	if ctx.Err() != nil {
		return text, context.Cause(ctx)
	}
	if ended, bad := errors.AsType[*ssh.ExitError](err); bad {
		return text, &programFailure{program: program, code: ended.ExitStatus(),
			output: text + "\n" + errs.text()}
	}
	if err != nil {
		return text, fmt.Errorf("run %s: %w", program, err)
	}
	return text, nil
}

// collector stores a program's output on one stream, and passes it on line by line,
// long lines in pieces.
type collector struct {
	say    func(string)
	masker *mask.Masker

	mu   sync.Mutex
	all  bytes.Buffer
	rest []byte
	// long is set within a line that is passed on in pieces: a secret may lie
	// across their borders.
	long *mask.Stream
}

// Write is called from a goroutine of the session's, which may outlive a run that
// was cut short.
func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := maxOutput - c.all.Len(); room > 0 {
		c.all.Write(p[:min(room, len(p))])
	}
	c.rest = append(c.rest, p...)
	for {
		at := bytes.IndexByte(c.rest, '\n')
		if at < 0 && len(c.rest) < maxLine {
			return len(p), nil
		}
		if at < 0 || at > maxLine {
			c.passPiece(string(c.rest[:maxLine]))
			c.rest = c.rest[maxLine:]
			continue
		}
		c.passLine(string(c.rest[:at]))
		c.rest = c.rest[at+1:]
	}
}

// passPiece passes on a piece of a long line, up to where a secret could continue in the next
// piece.
func (c *collector) passPiece(piece string) {
	if c.long == nil {
		c.long = c.masker.NewStream()
	}
	if shown := c.long.Write(piece); shown != "" {
		c.say(shown)
	}
}

// passLine passes on a line, or the end of a long one.
func (c *collector) passLine(line string) {
	if c.long == nil {
		c.say(c.masker.Mask(line))
		return
	}
	c.say(c.long.Write(line) + c.long.Flush())
	c.long = nil
}

func (c *collector) flushRest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rest) > 0 || c.long != nil {
		c.passLine(string(c.rest))
		c.rest = nil
	}
}

func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.String()
}

// errSilent ends a connection whose far end stopped answering.
var errSilent = errors.New("the machine does not answer any more")

// watchConnection pings the far end. Without it, a connection that a firewall dropped
// would hang for ever.
func (m *sshMachine) watchConnection(ctx context.Context, give func(error)) {
	const every, within = 10 * time.Second, 20 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answered := make(chan error, 1)
		go func() {
			_, _, err := m.client.SendRequest("keepalive@openssh.com", true, nil)
			answered <- err
		}()
		late := time.NewTimer(within)
		select {
		case <-ctx.Done():
		case err := <-answered:
			if err != nil {
				give(errors.Join(errSilent, err))
			}
		case <-late.C:
			give(errSilent)
		}
		late.Stop()
	}
}

package runtimetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/nullops/nullops/agent"
)

// What a container sends to the mail port comes to the agent: from the deployment that it is of and
// from no other, and also if the agent was away when the container asked. A service that has the
// port's name gets it, once the deployment is prepared without one.
func mailsReachTheAgent(b *testDeployment) {
	catcher, ok := b.Runtime.(agent.MailCatcher)
	if !ok || b.Actor == nil {
		return
	}
	if _, err := catcher.AcceptMail(b.ctx, b.deployment); !errors.Is(err, agent.ErrNotFound) {
		b.Errorf("a deployment that is not prepared: %v", err)
	}
	for range 2 {
		b.mustSucceed(catcher.PrepareWithMail(b.ctx, b.deployment))
	}
	if all := b.listOwn(); len(all) != 2 || b.countObjects("relay") != 1 {
		b.Errorf("with a mail port there are %v", all)
	}
	other := *b
	other.deployment = newID()
	defer func() {
		left, err := other.Runtime.RemoveDeployment(b.ctx, other.deployment)
		b.mustSucceed(err)
		if rest := other.listOwn(); len(left) > 0 || len(rest) > 0 {
			b.Errorf("left %v, listed %v", left, rest)
		}
	}()
	b.mustSucceed(catcher.PrepareWithMail(b.ctx, other.deployment))
	ctx, cancel := context.WithCancel(b.ctx)
	others := make(chan error, 1)
	go func() {
		conn, err := catcher.AcceptMail(ctx, other.deployment)
		if err == nil {
			_ = conn.Close()
		}
		others <- err
	}()
	sender := b.newService("sender")
	b.Actor(&sender, "mail", "1")
	sender.Ready, sender.Once = nil, true
	b.mustSucceed(b.Runtime.Pull(b.ctx, sender.Image, nil, nil))
	b.mustSucceed(b.Runtime.StartService(b.ctx, sender))
	conn, err := catcher.AcceptMail(b.ctx, b.deployment)
	b.mustSucceed(err)
	text, err := takeMail(conn)
	if err != nil || !strings.Contains(text, "Subject: mail 1 of 1") {
		b.Errorf("the mail is %q, %v", text, err)
	}
	if p := b.awaitProbe(sender, func(p agent.ProbeResult) bool { return p.Ended }); p.ExitCode != 0 {
		b.Errorf("the sender ended with %+v", p)
	}
	cancel()
	if err := <-others; err == nil {
		b.Error("the mail came to another deployment")
	}
	serviceHasTheName(b, catcher)
}

// serviceHasTheName gives the mail port's name to a service, and takes it back.
func serviceHasTheName(b *testDeployment, catcher agent.MailCatcher) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	if _, err := catcher.AcceptMail(b.ctx, b.deployment); !errors.Is(err, agent.ErrNoMailPort) {
		b.Errorf("without a mail port: %v", err)
	}
	own := b.newService(agent.MailHost)
	b.startReady(own)
	asker := b.newService("asker")
	b.Actor(&asker, "reach", fmt.Sprintf("%s:%d", agent.MailHost, b.Port))
	asker.Ready, asker.Once = nil, true
	b.mustSucceed(b.Runtime.StartService(b.ctx, asker))
	if p := b.awaitProbe(asker, func(p agent.ProbeResult) bool { return p.Ended }); p.ExitCode != 0 {
		b.Errorf("who asks for the service called mail ends with %+v", p)
	}
}

// takeMail speaks SMTP with a client for one mail, and returns its text.
func takeMail(conn net.Conn) (string, error) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "220 mail\r\n"); err != nil {
		return "", err
	}
	lines, data := bufio.NewScanner(conn), false
	var text strings.Builder
	for lines.Scan() {
		line := lines.Text()
		answer := "250 go on\r\n"
		switch {
		case data && line != ".":
			text.WriteString(line + "\n")
			continue
		case data:
			data = false
		case line == "DATA":
			data, answer = true, "354 go on\r\n"
		case line == "QUIT":
			_, err := io.WriteString(conn, "221 bye\r\n")
			return text.String(), err
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return text.String(), err
		}
	}
	return text.String(), errors.Join(errors.New("the client did not end"), lines.Err())
}

package notify

import (
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
)

// mailStage is how far a mail came before it failed, in the words of an error.
type mailStage string

const (
	mailReach   mailStage = "reach the mail server"
	mailGreet   mailStage = "greet the mail server"
	mailEncrypt mailStage = "encrypt the way to the mail server"
	mailSignIn  mailStage = "sign in to the mail server"
	mailSender  mailStage = "the mail server refuses the sender"
	mailRefused mailStage = "the mail server refuses"
)

// mailError is why a mail was not sent.
type mailError struct {
	stage mailStage
	err   error
}

func (e *mailError) Error() string { return string(e.stage) + ": " + e.err.Error() }

func (e *mailError) Unwrap() error { return e.err }

// explainMailError says in sentences why a mail was not sent, with the server's own reply, and what
// to change.
func (m MailConfig) explainMailError(err error) string {
	failed, ok := errors.AsType[*mailError](err)
	if !ok {
		return toSentence(err.Error())
	}
	host, _, _ := net.SplitHostPort(m.Server)
	what, remedy := "It refuses the mail", "Check that it may send to this address."
	switch failed.stage {
	case mailReach:
		what = m.Server + " cannot be reached"
		remedy = "Check mail.server, and that the control plane may connect there."
	case mailGreet:
		what = m.Server + " does not greet like a mail server"
		remedy = "Check the port: on 465 the connection begins with TLS, on all others with a greeting."
	case mailEncrypt:
		what = "The connection to it cannot be encrypted"
		remedy = fmt.Sprintf("Its certificate must be valid for %s and from a known authority.", host)
	case mailSignIn:
		what, remedy = "It refuses the sign-in", "Check mail.username and mail.password."
		if _, replied := errors.AsType[*textproto.Error](err); !replied {
			what, remedy = "Nobody can sign in to it safely",
				"It must offer STARTTLS, or be asked on port 465: no password is sent unencrypted."
		}
	case mailSender:
		what = "It refuses the sender"
		remedy = "Check mail.from, and whether it wants mail.username and mail.password."
	}
	return toSentence(what+": "+rootCause(failed.err)) + " " + remedy
}

// rootCause is the server's reply or, if it gave none, the innermost reason of the network.
func rootCause(err error) string {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return fmt.Sprintf("it answers %d, %s", reply.Code,
			strings.Join(strings.Fields(reply.Msg), " "))
	}
	if network, ok := errors.AsType[*net.OpError](err); ok && network.Err != nil {
		err = network.Err
	}
	return strings.TrimPrefix(err.Error(), "connect: ")
}

// toSentence ends a text with a full stop, if nothing does.
func toSentence(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

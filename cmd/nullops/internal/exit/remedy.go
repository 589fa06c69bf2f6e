package exit

import (
	"errors"
	"net/http"
)

// remedied is an error that knows what can be done about it.
type remedied interface {
	error
	RemedyText() string
}

// RemedyOf is what a person can do about err, with which the command named command ended. It is
// printed below each error; the error's own remedy counts more than what follows from its kind.
func RemedyOf(err error, command string) string {
	if known, ok := errors.AsType[remedied](err); ok && known.RemedyText() != "" {
		return known.RemedyText()
	}
	refused, ok := errors.AsType[refusal](err)
	if !ok {
		return remedyOfCode(CodeOf(err), command)
	}
	switch status := refused.HTTPStatus(); {
	case status == http.StatusUnauthorized:
		return "Sign in: nullops login URL"
	case status == http.StatusForbidden:
		return "Ask an admin for access; 'nullops access explain KIND/NAME' says who has it and why."
	case status == http.StatusNotFound:
		return "Check the name and your access; 'nullops list' shows your deployments, " +
			"'nullops export' the definitions you may see."
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return "Look at what it is by now, and run the command again if it still fits."
	case status == http.StatusTooManyRequests:
		return "Wait a minute, and run the command again."
	case status >= http.StatusInternalServerError:
		return "Run the command again; if it fails again, run 'nullops doctor' and look at the log " +
			"of the control plane."
	}
	return "Correct it, and run the command again; '" + command + " --help' explains each flag."
}

func remedyOfCode(code int, command string) string {
	switch code {
	case Usage:
		return "'" + command + " --help' shows how to write it, with examples."
	case Forbidden:
		return "Sign in: nullops login URL"
	case Refused:
		return "Correct it, and run the command again; '" + command + " --help' explains each flag."
	case NotReady:
		return "'nullops show DEPLOYMENT' says why, 'nullops logs DEPLOYMENT' has the logs."
	}
	return "Put right what the message names, and run the command again; 'nullops doctor' checks " +
		"the control plane and the way to it."
}

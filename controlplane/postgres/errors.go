package postgres

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nullops/nullops/controlplane"
)

// PostgreSQL's error codes that mean something to a person, or to us.
const (
	codeUnique        = "23505"
	codeForeignKey    = "23503"
	codeCheck         = "23514"
	codeRestrict      = "23001"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeStarting      = "57P03"
	codeLockTimeout   = "55P03"
)

// isRetryable reports whether PostgreSQL asks to retry the transaction.
func isRetryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == codeSerialization || pg.Code == codeDeadlock)
}

// isLockTimeout reports whether a statement waited for a lock longer than lock_timeout says.
func isLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == codeLockTimeout
}

// markAway adds ErrDatabaseAway to an error of the connection, or of a server that is
// starting, stopping, or out of disk, memory or connections. Refusals stay as they are.
func markAway(err error) error {
	if err == nil || controlplane.KindOf(err) != "" || errors.Is(err, controlplane.ErrDatabaseAway) {
		return err
	}
	if !isConnectionError(err) && !isServerTrouble(err) {
		return err
	}
	return fmt.Errorf("%w: %w", controlplane.ErrDatabaseAway, err)
}

func isConnectionError(err error) bool {
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[*net.OpError](err)
	return refused || broken || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// isServerTrouble looks at the class of the code: connection exceptions, insufficient
// resources, shutdown and start, and errors outside of PostgreSQL, such as of its disk.
func isServerTrouble(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || len(pg.Code) != 5 {
		return false
	}
	switch pg.Code[:2] {
	case "08", "53", "58":
		return true
	}
	return strings.HasPrefix(pg.Code, "57P")
}

// translateError turns a violated constraint into an error for people. Use cases check
// first and explain better; this is for races. Other errors are returned unchanged.
func translateError(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case codeUnique:
		return &controlplane.Error{
			Kind: controlplane.Conflict, Code: "exists", Cause: err,
			Message: "something with this name or address exists already",
			Remedy:  "Choose another one.",
		}
	case codeForeignKey, codeRestrict:
		return &controlplane.Error{
			Kind: controlplane.Conflict, Code: "in_use", Cause: err,
			Message: "this is in use, or what it refers to is gone",
			Remedy:  "Load it again and look at what uses it.",
		}
	case codeCheck:
		return &controlplane.Error{
			Kind: controlplane.Conflict, Code: "not_allowed_now", Cause: err,
			Message: "this is not possible in the present state",
			Remedy:  "Load it again; somebody may have been faster.",
		}
	default:
		return err
	}
}

// translateMissing turns "no row" into the answer for what does not exist.
func translateMissing(err error, what, name string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return controlplane.NewNotFoundError(what, name)
	}
	return translateError(err)
}

// inUseError returns the error for deleting something that is in use. It names the
// users; the foreign keys catch a race, without names.
func inUseError(what string, users []string, err error) error {
	if err != nil {
		return fmt.Errorf("list users of %s: %w", what, err)
	}
	if len(users) == 0 {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "in_use", Users: users,
		Message: "this " + what + " is in use",
		Remedy:  "Remove what uses it first.",
	}
}

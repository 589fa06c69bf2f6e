package lifecycle

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// Check is one thing that creating a deployment depends on.
type Check struct {
	// ID is a stable word, such as tag or capacity; Subject what was looked at.
	ID, Subject string
	State       CheckState
	// Code, Message, Remedy and Field are those of the refusal, if it failed.
	Code, Message, Remedy, Field string
}

// CheckState is the result of a check.
type CheckState string

// The states. Unknown does not block creation.
const (
	CheckOK      CheckState = "ok"
	CheckFailed  CheckState = "failed"
	CheckUnknown CheckState = "unknown"
)

// checks collects results. Pre-flight shows all of them; creating runs the same code, and is
// refused with the first failure.
type checks struct {
	all []Check
	// refusal is the first failure; nil if none failed.
	refusal error
}

// record writes one result down. It returns an error that is no refusal, which ends
// everything.
func (c *checks) record(id, subject, said string, err error) error {
	check := Check{ID: id, Subject: subject, State: CheckOK, Message: said}
	if err != nil {
		e, ok := errors.AsType[*controlplane.Error](err)
		if !ok {
			return err
		}
		c.refuse(err)
		check.State, check.Code, check.Field = CheckFailed, e.Code, e.Field
		check.Message, check.Remedy = controlplane.Sentence(e.Message), e.Remedy
	}
	c.all = append(c.all, check)
	return nil
}

// refuse sets what creating is refused with, unless something failed before.
func (c *checks) refuse(err error) {
	if c.refusal == nil {
		c.refusal = err
	}
}

// refusalOr returns the first failure, or else the error that ended the checks.
func (c *checks) refusalOr(err error) error {
	if c.refusal != nil {
		return c.refusal
	}
	return err
}

func (c *checks) recordOK(id, said string) {
	c.all = append(c.all, Check{ID: id, State: CheckOK, Message: said})
}

func (c *checks) recordUnknown(id, subject, why string) {
	c.all = append(c.all, Check{ID: id, Subject: subject, State: CheckUnknown, Message: why})
}

// hasFailed reports whether one of the checks with these ids failed.
func (c *checks) hasFailed(ids ...string) bool {
	return slices.ContainsFunc(c.all, func(one Check) bool {
		return one.State == CheckFailed && slices.Contains(ids, one.ID)
	})
}

// endSentence ends a message as people expect it.
func endSentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// problemCheck returns the id of the check that a registry's error belongs to.
func problemCheck(err error, otherwise string) string {
	if strings.HasPrefix(controlplane.CodeOf(err), "registry_") {
		return "registry"
	}
	return cmp.Or(otherwise, "tag")
}

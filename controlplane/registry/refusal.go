package registry

import (
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// Reasons for which the guard or a list ends a question.
var (
	errTooLarge = errors.New("the answer is too large")
	errLongList = fmt.Errorf("its list has more than %d tags", maxTags)
	errLoop     = errors.New("its list comes back to pages that it gave before and never ends")
	errPlain    = errors.New("it wants plain HTTP")
	errUserInfo = errors.New("it leads to an address with a password in it")
)

// badAddress is a registry whose name leads where no registry may be.
type badAddress struct{ err error }

func (e *badAddress) Error() string { return e.err.Error() }
func (e *badAddress) Unwrap() error { return e.err }

// foreignToken is the error for a registry that wants its credentials sent to another host.
type foreignToken struct{ host string }

func (e *foreignToken) Error() string {
	return "it wants its credentials sent to " + controlplane.ClipText(e.host)
}

// slowList is a list that was not read to its end in time.
type slowList struct {
	tags       int
	repository string
	cause      error
}

func (e *slowList) Error() string { return e.cause.Error() }
func (e *slowList) Unwrap() error { return e.cause }

func (e *slowList) explain(host string) error {
	return unavailableError("registry_slow",
		fmt.Sprintf("registry %s did not finish its list of %s in time: %d tags came, more follow",
			host, e.repository, e.tags),
		"Delete old tags there or look at why it is slow. "+pinInstead, e.cause)
}

// stillReading is the error while a long list is being read.
func stillReading(s Source) error {
	return unavailableError("registry_slow",
		fmt.Sprintf("registry %s is still sending its list of %s", s.Registry.Host, s.Repository),
		"Ask again in a minute: the list is read on. "+pinInstead, nil)
}

// pinInstead is what helps while a list cannot be read.
const pinInstead = "A service whose tag is pinned does not need the list."

// refusalError explains why requests to a registry were stopped, with a remedy for
// that reason.
func refusalError(host string, why error) error {
	message := fmt.Sprintf("registry %s was not trusted: %s", host, why)
	remedy := "Check the registry's host; if it is right, its operator must look at this."
	var list *offSite
	var address *badAddress
	var token *foreignToken
	switch {
	case errors.As(why, &list):
		message = fmt.Sprintf("registry %s continues its list of tags on %s, where NullOps does "+
			"not follow", host, controlplane.ClipText(list.to))
		remedy = "Its operator must have it, or the proxy before it, give addresses with the " +
			"scheme and host that it is asked by. " + pinInstead
	case errors.Is(why, errLoop):
		message = fmt.Sprintf("registry %s repeats pages of its list of tags, which never ends", host)
		remedy = "Its operator must look at the paging of its tags, or update it. " + pinInstead
	case errors.Is(why, errLongList):
		message = fmt.Sprintf("registry %s lists more than %d tags", host, maxTags)
		remedy = "Delete old tags there, for instance by a retention rule. " + pinInstead
	case errors.Is(why, errLinks):
		message = fmt.Sprintf("registry %s gives a next page of its list that cannot be read", host)
		remedy = "Its operator must look at the header Link that it or its proxy sends. " +
			pinInstead
	case errors.Is(why, errTooLarge):
		remedy = "Check that the host belongs to a registry; its answers are a few megabytes at most."
	case errors.As(why, &address):
		remedy = "Check the registry's host name and the address that it resolves to."
	case errors.As(why, &token), errors.Is(why, errPlain), errors.Is(why, errUserInfo):
		remedy = "Its operator must set the address of its token service (realm) and its redirects " +
			"to https in the registry's own domain."
	}
	return unavailableError("registry_refused", message, remedy, why)
}

package registry

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// errLinks is a Link header that RFC 8288 does not allow. It is an error, because half
// a list must not look like a whole one.
var errLinks = errors.New("the header Link cannot be read")

// nextPage returns the address of the page after the one at from, or "" after the
// last. It must be on from's host, since the next request may carry a password.
func nextPage(from *url.URL, h http.Header) (string, error) {
	links, err := parseLinks(strings.Join(h.Values("Link"), ","))
	if err != nil {
		return "", err
	}
	for _, l := range links {
		if l.hasRelation("next") {
			return resolvePage(from, l.target)
		}
	}
	return "", nil
}

// resolvePage resolves the address of a page and refuses one of another host.
func resolvePage(from *url.URL, target string) (string, error) {
	if target == "" {
		return "", nil
	}
	u, err := from.Parse(target)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errLinks, err)
	}
	if u.Scheme != from.Scheme || hostAndPort(u) != hostAndPort(from) || u.User != nil {
		return "", &offSite{to: u.Scheme + "://" + u.Host}
	}
	// Spelled as the request before was, which the guard knows.
	u.Host, u.Fragment = from.Host, ""
	return u.String(), nil
}

// hostAndPort spells out the port, which addresses may leave out.
func hostAndPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// offSite is a list that continues at another host or over another scheme.
type offSite struct{ to string }

func (e *offSite) Error() string { return "its list continues on " + controlplane.ClipText(e.to) }

// link is one link of a Link header.
type link struct {
	target string
	rel    string
	// elsewhere is set if the link is about another resource than the response (anchor).
	elsewhere bool
}

// hasRelation compares with each of the relations that rel may hold.
func (l link) hasRelation(name string) bool {
	if l.elsewhere {
		return false
	}
	for one := range strings.FieldsSeq(l.rel) {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}

// parseLinks reads the links of a Link header as RFC 8288, section 3, writes
// them. Several headers are joined with commas before.
func parseLinks(header string) (all []link, err error) {
	rest := header
	for {
		// Lists may hold empty elements.
		if rest = strings.TrimLeft(rest, " \t,"); rest == "" {
			return all, nil
		}
		target, after, closed := strings.Cut(rest, ">")
		if rest[0] != '<' || !closed {
			return nil, errLinks
		}
		l := link{target: strings.TrimSpace(target[1:])}
		if rest, err = l.parseParameters(after); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// parseParameters reads the parameters after a target, and returns the rest after the
// comma that ends them.
func (l *link) parseParameters(s string) (rest string, err error) {
	seen := false
	for {
		s = strings.TrimLeft(s, " \t")
		switch {
		case s == "":
			return "", nil
		case s[0] == ',':
			return s[1:], nil
		case s[0] != ';':
			return "", errLinks
		}
		var name, value string
		if name, value, s, err = parseParameter(s[1:]); err != nil {
			return "", err
		}
		switch {
		case name == "rel" && !seen:
			// A second rel is to be ignored.
			l.rel, seen = value, true
		case name == "anchor":
			l.elsewhere = true
		}
	}
}

// parseParameter reads a name with its value, which may be missing, a word or
// a quoted string.
func parseParameter(s string) (name, value, rest string, err error) {
	s = strings.TrimLeft(s, " \t")
	end := strings.IndexAny(s, "=;, \t")
	if end < 0 {
		return strings.ToLower(s), "", "", nil
	}
	name, s = strings.ToLower(s[:end]), strings.TrimLeft(s[end:], " \t")
	if s == "" || s[0] != '=' {
		return name, "", s, nil
	}
	s = strings.TrimLeft(s[1:], " \t")
	if s == "" || s[0] != '"' {
		end := strings.IndexAny(s, ";, \t")
		if end < 0 {
			end = len(s)
		}
		return name, s[:end], s[end:], nil
	}
	value, rest, err = parseQuoted(s[1:])
	return name, value, rest, err
}

// parseQuoted reads a quoted string whose first quote was consumed.
func parseQuoted(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			if i++; i == len(s) {
				return "", "", errLinks
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", errLinks
}

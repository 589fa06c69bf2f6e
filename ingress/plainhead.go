package ingress

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
)

// headState is what there is of a head.
type headState int

const (
	headPartial headState = iota // so far it may become that of a plain request
	headWhole
	headOdd   // for net/http's server to judge
	headEnded // the connection ended, or took too long
)

const lineEnd = "\r\n"

var endOfHead = []byte(lineEnd + lineEnd)

// parseHead reads the head of a plain request into p.request. It takes less than net/http does, and
// what it takes it reads as net/http does: FuzzPlainHead compares them. For everything that
// somebody else on the way might read in another way, it reports headOdd.
func (p *plainConn) parseHead(b []byte) (size int, found headState) {
	end := bytes.Index(b, endOfHead)
	if end < 0 {
		return 0, p.judgePartial(b)
	}
	if !p.parseLines(string(b[:end+len(lineEnd)])) || !p.readSpecialHeaders() {
		return 0, headOdd
	}
	return end + len(endOfHead), headWhole
}

// parseLines reads the request line and header lines, each with its end.
func (p *plainConn) parseLines(head string) bool {
	line, head, _ := strings.Cut(head, lineEnd)
	p.request = *p.blank
	return parseRequestLine(&p.request, line) && p.parseHeader(head)
}

// judgePartial tells early what cannot become a plain request: its client may wait for an answer.
func (p *plainConn) judgePartial(b []byte) headState {
	rest := b
	if end := bytes.LastIndex(b, []byte(lineEnd)); end >= 0 {
		rest = b[end+len(lineEnd):]
		if !p.parseLines(string(b[:len(b)-len(rest)])) {
			return headOdd
		}
	} else if !beginsPlain(b) {
		return headOdd
	}
	if bytes.IndexByte(rest, '\n') >= 0 {
		return headOdd
	}
	return headPartial
}

// beginsPlain judges the beginning of a request line.
func beginsPlain(b []byte) bool {
	for _, method := range []string{"GET /", "HEAD /", "OPTIONS /"} {
		if n := min(len(b), len(method)); string(b[:n]) == method[:n] {
			return true
		}
	}
	return false
}

func parseRequestLine(r *http.Request, line string) bool {
	method, rest, _ := strings.Cut(line, " ")
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		return false
	}
	target, version, _ := strings.Cut(rest, " ")
	if version != "HTTP/1.1" || target == "" || target[0] != '/' {
		return false
	}
	for i := range len(target) {
		if target[i] <= ' ' || target[i] > '~' {
			return false
		}
	}
	u, err := url.ParseRequestURI(target)
	r.Method, r.RequestURI, r.URL = method, target, u
	return err == nil
}

// parseHeader reads header lines, each with its end.
func (p *plainConn) parseHeader(head string) bool {
	clear(p.header)
	p.values = p.values[:0]
	for head != "" {
		line, rest, ended := strings.Cut(head, lineEnd)
		name, value, ok := strings.Cut(line, ":")
		if !ended || !ok || !isPlainName(name) || !isPlainValue(value) {
			return false
		}
		p.values = addHeader(p.header, p.values, name, value)
		head = rest
	}
	return true
}

// readSpecialHeaders reads what headers say about the request and the connection.
func (p *plainConn) readSpecialHeaders() bool {
	h := p.header
	for _, odd := range []string{"Content-Length", "Transfer-Encoding", "Upgrade", "Expect", "Trailer",
		"Http2-Settings"} {
		if _, ok := h[odd]; ok {
			return false
		}
	}
	switch connection := h["Connection"]; {
	case len(connection) == 0:
	case len(connection) == 1 && strings.EqualFold(connection[0], "close"):
		p.request.Close = true
	case len(connection) == 1 && strings.EqualFold(connection[0], "keep-alive"):
	default:
		return false
	}
	host := h["Host"]
	if len(host) != 1 || !isPlainHost(host[0]) {
		return false
	}
	p.request.Host = host[0]
	delete(h, "Host")
	if pragma := h["Pragma"]; len(pragma) > 0 && pragma[0] == "no-cache" && h["Cache-Control"] == nil {
		h["Cache-Control"] = []string{"no-cache"} // as net/http does
	}
	return true
}

// plainBytes says of each byte where it may be.
var plainBytes = func() (table [256]struct{ name, value, host bool }) {
	for c := range table {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 || '0' <= c && c <= '9'
		table[c].host = letter || c == '.' || c == '-' || c == ':'
		// An underscore is valid, but some read it as a hyphen.
		table[c].name = letter || c < 0x80 && strings.IndexByte("!#$%&'*+-.^`|~", byte(c)) >= 0
		table[c].value = c >= ' ' && c != 0x7f || c == '\t'
	}
	return table
}()

func isPlainName(s string) bool {
	for i := range len(s) {
		if !plainBytes[s[i]].name {
			return false
		}
	}
	return s != ""
}

func isPlainValue(s string) bool {
	for i := range len(s) {
		if !plainBytes[s[i]].value {
			return false
		}
	}
	return true
}

func isPlainHost(s string) bool {
	for i := range len(s) {
		if !plainBytes[s[i]].host {
			return false
		}
	}
	return s != ""
}

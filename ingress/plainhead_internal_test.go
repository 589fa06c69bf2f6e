package ingress

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"testing"
)

// plainSeeds are heads at the border of what is plain.
var plainSeeds = []string{
	"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /a?b=c HTTP/1.1\r\nhost:A.b:80\r\n\r\nGET /",
	"OPTIONS //x HTTP/1.1\r\nHost: a\r\nX: 1\r\nx: 2\r\nX: 3\r\n\r\n",
	"GET /%2F%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a HTTP/1.0\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\nPragma: no-cache\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, X\r\nX: y\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nX: \r y\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n y\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nX_Y: y\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nCookie: \xff\xfe\t;\r\nAccept: \r\n\r\n",
	"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nKey: v\x00\r\n\r\n", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
}

// newHeadReader is a connection that only reads heads.
func newHeadReader() *plainConn {
	p := &plainConn{header: http.Header{}}
	p.blank = &http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: p.header,
		Body: http.NoBody}
	return p
}

// What is taken for a plain request is the request that net/http's server reads, and ends at the
// same byte.
//
// threat: T31
func FuzzPlainHead(f *testing.F) {
	for _, seed := range plainSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newHeadReader()
		size, found := p.parseHead(b)
		if found != headWhole {
			return
		}
		rest := bytes.NewReader(b)
		in := bufio.NewReader(rest)
		want, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b[:size], err)
		}
		if left := in.Buffered() + rest.Len(); left != len(b)-size {
			t.Errorf("of %q %d bytes are left, and with net/http %d", b, len(b)-size, left)
		}
		delete(want.Header, "Host") // net/http's server does that
		got := &p.request
		if got.Method != want.Method || got.RequestURI != want.RequestURI || got.Host != want.Host ||
			got.Proto != want.Proto || got.Close != want.Close || got.ContentLength != 0 ||
			want.ContentLength != 0 || want.Body != http.NoBody || len(want.TransferEncoding) > 0 ||
			!reflect.DeepEqual(got.URL, want.URL) || !reflect.DeepEqual(got.Header, want.Header) {
			t.Errorf("%q is\n%+v, and for net/http\n%+v", b, got, want)
		}
		if !isPlain(got) || wantsUpgrade(got) {
			t.Errorf("%q is not plain", b)
		}
	})
}

// A head that is read in pieces is read as if it came whole, and what can become none that is
// plain is known before its end.
func TestPlainHead_Pieces(t *testing.T) {
	for _, seed := range plainSeeds {
		size, found := newHeadReader().parseHead([]byte(seed))
		for n := 1; n < size; n++ {
			if _, part := newHeadReader().parseHead([]byte(seed[:n])); part != headPartial {
				t.Errorf("%q is %v, and whole %v", seed[:n], part, found)
			}
		}
	}
	for _, odd := range []string{"P", "POST", "GET x", "OPTIONS *", "GETT", "\x16\x03",
		"PRI * HTTP/2.0", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: a\n", "\r\n", "GET /\r\n",
		"GET / HTTP/1.1\r\ngarbage\r\n"} {
		if _, found := newHeadReader().parseHead([]byte(odd)); found != headOdd {
			t.Errorf("of %q more is waited for", odd)
		}
	}
}

// An answer that is read without net/http is the one that net/http reads, with the same body.
func FuzzPlainAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 204 No\r\n\r\nx",
		"HTTP/1.1 200\r\ncontent-length: 003\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nab",
		"HTTP/1.1 304 \r\nEtag: x\r\nConnection: close\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", "HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nPragma: no-cache\r\nX_Y: z\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 O\rK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX:\r\n y\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, head bool) {
		r := &http.Request{Method: http.MethodGet}
		if head {
			r.Method = http.MethodHead
		}
		c := &conn{}
		size := c.answer.parse(b, r)
		if size == 0 {
			return
		}
		in := bufio.NewReader(bytes.NewReader(b))
		want, err := http.ReadResponse(in, r)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b[:size], err)
		}
		got := &c.answer.response
		if got.StatusCode != want.StatusCode || got.Close != want.Close ||
			got.Body != http.NoBody && got.ContentLength != want.ContentLength ||
			!reflect.DeepEqual(got.Header, want.Header) ||
			(got.Body == http.NoBody) != (want.Body == http.NoBody) {
			t.Errorf("%q is\n%+v, and for net/http\n%+v", b, got, want)
		}
		c.in = bufio.NewReader(bytes.NewReader(b[size:]))
		c.answer.body.c = c
		body, cut := io.ReadAll(got.Body)
		same, sameCut := io.ReadAll(want.Body)
		rest, _ := io.ReadAll(c.in)
		sameRest, _ := io.ReadAll(in)
		if !bytes.Equal(body, same) || cut != sameCut || !bytes.Equal(rest, sameRest) {
			t.Errorf("the body of %q is %q, %v, and for net/http %q, %v", b, body, cut, same, sameCut)
		}
	})
}

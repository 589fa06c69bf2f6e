package ingress_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/nullops/nullops/ingress"
)

// h2 is a hostile client that writes HTTP/2 frames as it likes.
type h2 struct {
	t       *testing.T
	conn    net.Conn
	frames  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

// h2Bed is an ingress over TLS with a recorder as its service.
func h2Bed(t *testing.T) (*recorder, *bed, ingress.Route, string) {
	t.Helper()
	rec := newRecorder(t)
	b := newBed(t)
	r := b.at("cart", "web", rec.addr)
	b.zone(ingress.GateOpen, r)
	chain, key, _ := makeAuthority(t)
	issuer, err := ingress.NewIssuer(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	shown := &ingress.Certificates{Issues: func(string) bool { return true }}
	shown.Set(nil, issuer)
	return rec, b, r, b.serveTLS(shown)
}

func newH2(t *testing.T, addr string) *h2 {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{ServerName: victim, NextProtos: []string{"h2"},
		InsecureSkipVerify: true}} // it is not the certificate that is tried
	conn, err := dialer.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &h2{t: t, conn: conn, frames: http2.NewFramer(conn, conn)}
	c.encoder = hpack.NewEncoder(&c.block)
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err == nil {
		err = c.frames.WriteSettings()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// headers encodes "name: value" lines; a server that has had enough closes.
func (c *h2) headers(stream uint32, end bool, lines ...string) error {
	c.block.Reset()
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		if err := c.encoder.WriteField(hpack.HeaderField{Name: name, Value: value}); err != nil {
			return err
		}
	}
	return c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream,
		BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: end})
}

// awaitStreamEnd reads until the server has answered or refused the stream.
func (c *h2) awaitStreamEnd(stream uint32) {
	for {
		f, err := c.frames.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return
		case *http2.HeadersFrame:
			if f.StreamID == stream && f.StreamEnded() {
				return
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				return
			}
		}
	}
}

// One in is at most one out over HTTP/2 too, and the ingress frames it itself.
//
// threat: T31
func TestProxy_HostileHTTP2(t *testing.T) {
	rec, _, _, addr := h2Bed(t)
	get := []string{":method=GET", ":scheme=https", ":authority=" + victim, ":path=/first"}
	with := func(lines ...string) []string { return append(append([]string(nil), get...), lines...) }
	for name, lines := range map[string][]string{
		"TE chunked":        with("transfer-encoding=chunked"),
		"connection":        with("connection=upgrade", "upgrade=h2c"),
		"two lengths":       with("content-length=5", "content-length=98"),
		"length of nothing": with("content-length=98"),
		"upper case":        with("X-Upper=1"),
		"CRLF in a value":   with("x=a\r\nGET /smuggled HTTP/1.1"),
		"CRLF in a name":    with("x\r\nhost: evil\r\ny=1"),
		"colon in a name":   with("x:y=1"),
		"host twin":         with("host=other." + domain),
		"late pseudo": {":method=GET", ":scheme=https", "x=y", ":authority=" + victim,
			":path=/first"},
		"two paths":  with(":path=/smuggled"),
		"no path":    {":method=GET", ":scheme=https", ":authority=" + victim},
		"empty path": {":method=GET", ":scheme=https", ":authority=" + victim, ":path="},
		"absolute path": {":method=GET", ":scheme=https", ":authority=" + victim,
			":path=http://" + victim + "/first"},
		"space in path": {":method=GET", ":scheme=https", ":authority=" + victim,
			":path=/first HTTP/1.1\r\nHost: evil\r\n\r\nGET /smuggled"},
		"asterisk": {":method=OPTIONS", ":scheme=https", ":authority=" + victim, ":path=*"},
		"odd method": {":method=GET /smuggled HTTP/1.1\r\n", ":scheme=https",
			":authority=" + victim, ":path=/"},
		"connect": {":method=CONNECT", ":authority=" + victim + ":80"},
		"websocket 8441": {":method=CONNECT", ":protocol=websocket", ":scheme=https",
			":authority=" + victim, ":path=/"},
		"authority user": {":method=GET", ":scheme=https", ":authority=a@" + victim, ":path=/first"},
		"no authority":   {":method=GET", ":scheme=https", ":path=/first"},
		"many headers":   with(strings.Split(strings.Repeat("x=y ", 3000)+"x=y", " ")...),
	} {
		t.Run(name, func(t *testing.T) {
			rec.reset()
			c := newH2(t, addr)
			if err := c.headers(1, true, lines...); err == nil {
				c.awaitStreamEnd(1)
			}
			n, broken := rec.count()
			if n > 1 || broken > 0 || strings.Contains(rec.bytes(), "GET /smuggled HTTP/1.1\r\n") ||
				strings.Contains(strings.ToLower(rec.bytes()), "transfer-encoding") {
				t.Errorf("%d requests out, %d broken: %.600q", n, broken, rec.bytes())
			}
		})
	}
}

// Streams opened and reset at once, and headers that never end, cost the client
// its connection or nothing; others are served.
//
// threat: T34
func TestProxy_HTTP2Floods(t *testing.T) {
	_, b, r, addr := h2Bed(t)
	c := newH2(t, addr)
	for i := range uint32(2000) {
		stream := 2*i + 1
		err := c.headers(stream, true, ":method=GET", ":scheme=https", ":authority="+victim, ":path=/")
		if err == nil {
			err = c.frames.WriteRSTStream(stream, http2.ErrCodeCancel)
		}
		if err != nil {
			break
		}
	}
	c = newH2(t, addr)
	err := c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
	for range 2000 {
		if err == nil {
			err = c.frames.WriteContinuation(1, false,
				bytes.Repeat([]byte{0x00, 0x01, 'x', 0x01, 'y'}, 200))
		}
	}
	if err == nil {
		// It was all taken: then at least it is not kept.
		c.awaitStreamEnd(1)
	}
	if res, body := b.send("GET", r.Host, "/"); res.StatusCode != 200 || body != "ok" {
		t.Errorf("after the floods: %d %q", res.StatusCode, body)
	}
}

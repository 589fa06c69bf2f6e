package ingress_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

const (
	victim   = "web.cart.env." + domain
	smuggled = "GET /smuggled HTTP/1.1\r\nHost: " + victim + "\r\n\r\n"
)

// hostileRequests returns requests of which another proxy, or another server, may see
// more, or other, requests than we do. Each is one request followed by bytes
// that must never become a second one at the service.
func hostileRequests() map[string]string {
	post := func(headers, body string) string {
		return "POST /first HTTP/1.1\r\nHost: " + victim + "\r\n" + headers + "\r\n" + body
	}
	get := func(line, headers string) string {
		return line + "\r\n" + headers + "\r\n"
	}
	const host = "Host: " + victim + "\r\n"
	chunked := func(te string) string { return post(te, "0\r\n\r\n"+smuggled) }
	chunk := func(body string) string { return post("Transfer-Encoding: chunked\r\n", body) }
	all := map[string]string{
		// Two lengths.
		"CL and TE": post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+smuggled),
		"TE and CL": post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"+smuggled),
		"CL twice":  post("Content-Length: 5\r\nContent-Length: 0\r\n", "hello"+smuggled),
		"CL list":   post("Content-Length: 5, 0\r\n", "hello"),
		"CL plus":   post("Content-Length: +5\r\n", "hello"),
		"CL minus":  post("Content-Length: -5\r\n", smuggled),
		"CL hex":    post("Content-Length: 0x5\r\n", "hello"),
		"CL words":  post("Content-Length: five\r\n", "hello"),
		"CL space":  post("Content-Length: 1 2\r\n", "hello"),
		"CL NUL":    post("Content-Length: 0\x00\r\n", smuggled),
		"CL huge":   post("Content-Length: 99999999999999999999\r\n", smuggled),
		"CL colon":  post("Content-Length : 5\r\n", "hello"),
		"CL under":  post("Content_Length: 5\r\n", "0\r\n\r\n"),
		"CL hides":  post("Content-Length: 98\r\n", smuggled),
		"GET body":  get("GET /first HTTP/1.1", host+"Content-Length: 98\r\n") + smuggled,
		// Encodings that are nearly chunked.
		"TE x":        chunked("Transfer-Encoding: xchunked\r\n"),
		"TE twice":    chunked("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
		"TE chunked2": chunked("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
		"TE list":     chunked("Transfer-Encoding: identity, chunked\r\n"),
		"TE last":     chunked("Transfer-Encoding: chunked, identity\r\n"),
		"TE gzip":     chunked("Transfer-Encoding: gzip, chunked\r\n"),
		"TE tab":      chunked("Transfer-Encoding:\tchunked\r\n"),
		"TE vtab":     chunked("Transfer-Encoding: \x0bchunked\r\n"),
		"TE end":      chunked("Transfer-Encoding: chunked\x0b\r\n"),
		"TE quoted":   chunked("Transfer-Encoding: \"chunked\"\r\n"),
		"TE param":    chunked("Transfer-Encoding: chunked;q=1\r\n"),
		"TE case":     chunked("tRANSFER-eNCODING: ChUnKeD\r\n"),
		"TE folded":   chunked("Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n"),
		"TE space":    chunked("Transfer-Encoding : chunked\r\nContent-Length: 5\r\n"),
		"TE under":    chunked("Transfer_Encoding: chunked\r\nContent-Length: 5\r\n"),
		"TE bare LF":  chunked("X: y\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
		"TE bare CR":  chunked("X: y\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
		"TE NUL":      chunked("Transfer-Encoding: chunked\x00\r\nContent-Length: 5\r\n"),
		"TE named":    chunked("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n"),
		"CL named":    post("Connection: Content-Length\r\nContent-Length: 5\r\n", "hello"),
		"TE in 1.0": get("POST /first HTTP/1.0", host+"Transfer-Encoding: chunked\r\n") +
			"0\r\n\r\n" + smuggled,
		"TE empty": chunked("Transfer-Encoding: \r\nContent-Length: 5\r\n"),
		"TE utf8":  chunked("Transfer-Encoding: chun\u212aed\r\nContent-Length: 5\r\n"),
		"TE on GET": get("GET /first HTTP/1.1", host+"Transfer-Encoding: chunked\r\n") +
			"0\r\n\r\n" + smuggled,
		"TE expect":    chunked("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n"),
		"CL expect":    post("Expect: 100-continue\r\nContent-Length: 98\r\n", smuggled),
		"expect other": post("Expect: the-unexpected\r\nContent-Length: 5\r\n", "hello"),
		// Chunks.
		"chunk bare LF":  chunk("5\nhello\n0\n\n" + smuggled),
		"chunk hex":      chunk("0x5\r\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk minus":    chunk("-1\r\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk plus":     chunk("+5\r\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk huge":     chunk("FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk wraps":    chunk("10000000000000005\r\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk short":    chunk("3\r\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk ext":      chunk("5;a=b\r\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk ext LF":   chunk("5;a\nhello\r\n0\r\n\r\n" + smuggled),
		"chunk ext long": chunk("5;" + strings.Repeat("a", 20_000) + "\r\nhello\r\n0\r\n\r\n"),
		"chunk trailer":  chunk("0\r\nContent-Length: 98\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n" + smuggled),
		"chunk host":     chunk("0\r\nHost: other\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled),
		"chunk no end":   chunk("5\r\nhello" + smuggled),
		"chunk spaces":   chunk("5 \r\nhello\r\n0\r\n\r\n" + smuggled),
		// Hosts.
		"two hosts":      get("GET /first HTTP/1.1", host+"Host: other."+domain+"\r\n"),
		"same host":      get("GET /first HTTP/1.1", host+host),
		"host spaced":    get("GET /first HTTP/1.1", "Host : "+victim+"\r\n"),
		"host folded":    get("GET /first HTTP/1.1", "Host:\r\n "+victim+"\r\n"),
		"host list":      get("GET /first HTTP/1.1", "Host: "+victim+", other."+domain+"\r\n"),
		"host none":      get("GET /first HTTP/1.1", ""),
		"host empty":     get("GET /first HTTP/1.1", "Host: \r\n"),
		"host none 1.0":  get("GET /first HTTP/1.0", ""),
		"host path":      get("GET /first HTTP/1.1", "Host: "+victim+"/x\r\n"),
		"host user":      get("GET /first HTTP/1.1", "Host: a@"+victim+"\r\n"),
		"host NUL":       get("GET /first HTTP/1.1", "Host: "+victim+"\x00.evil\r\n"),
		"host two ports": get("GET /first HTTP/1.1", "Host: "+victim+":80:81\r\n"),
		"host under":     get("GET /first HTTP/1.1", "Host: a_b."+domain+"\r\nHost_: "+victim+"\r\n"),
		"host twin": get("GET /first HTTP/1.1",
			"Host: no."+domain+"\r\nX-Forwarded-Host: "+victim+"\r\n"),
		// Targets.
		"absolute":       get("GET http://"+victim+"/first HTTP/1.1", "Host: no."+domain+"\r\n"),
		"absolute same":  get("GET http://"+victim+"/first HTTP/1.1", host),
		"absolute https": get("GET https://"+victim+"/first HTTP/1.1", host),
		"absolute file":  get("GET file:///etc/passwd HTTP/1.1", host),
		"authority":      get("CONNECT "+victim+":80 HTTP/1.1", host),
		"connect path":   get("CONNECT /first HTTP/1.1", host),
		"asterisk":       get("OPTIONS * HTTP/1.1", host),
		"asterisk GET":   get("GET * HTTP/1.1", host),
		"no slash":       get("GET first HTTP/1.1", host),
		"two spaces":     get("GET  /first HTTP/1.1", host),
		"space in path":  get("GET /first second HTTP/1.1", host),
		"tab":            get("GET\t/first\tHTTP/1.1", host),
		"NUL in path":    get("GET /first\x00 HTTP/1.1", host),
		"DEL in path":    get("GET /first\x7f HTTP/1.1", host),
		"CR in path":     get("GET /first\rX HTTP/1.1", host),
		"bad escape":     get("GET /%zz HTTP/1.1", host),
		"escaped CRLF":   get("GET /first%0d%0aX:%20y%0d%0a%0d%0aGET%20/smuggled HTTP/1.1", host),
		"query CRLF":     get("GET /first?a=%0d%0aHost:%20x HTTP/1.1", host),
		// Methods and versions.
		"trace":        get("TRACE /first HTTP/1.1", host),
		"odd method":   get("GE(T /first HTTP/1.1", host),
		"empty method": get(" /first HTTP/1.1", host),
		"HTTP/0.9":     "GET /first\r\n",
		"HTTP/1.2":     get("GET /first HTTP/1.2", host),
		"HTTP/2.0":     get("GET /first HTTP/2.0", host),
		"http/1.1":     get("GET /first http/1.1", host),
		"HTTP/1.10":    get("GET /first HTTP/1.10", host),
		"h2 preface":   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"TLS hello":    "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + strings.Repeat("\x00", 160),
		// Headers.
		"no colon":       get("GET /first HTTP/1.1", host+"garbage\r\n"),
		"no name":        get("GET /first HTTP/1.1", host+": x\r\n"),
		"name space":     get("GET /first HTTP/1.1", host+"X Y: z\r\n"),
		"name NUL":       get("GET /first HTTP/1.1", host+"X\x00Y: z\r\n"),
		"first is fold":  get("GET /first HTTP/1.1", " X: y\r\n"+host),
		"fold":           get("GET /first HTTP/1.1", host+"X: a\r\n\tb: c\r\n"),
		"value NUL":      get("GET /first HTTP/1.1", host+"X: a\x00b\r\n"),
		"value CR":       get("GET /first HTTP/1.1", host+"X: a\rGET /smuggled HTTP/1.1\r\n"),
		"all bare LF":    "GET /first HTTP/1.1\nHost: " + victim + "\n\n",
		"LF CR":          "GET /first HTTP/1.1\n\rHost: " + victim + "\n\r\n\r",
		"CRLF before":    "\r\n\r\nGET /first HTTP/1.1\r\n" + host + "\r\n",
		"70 KiB header":  get("GET /first HTTP/1.1", host+"X: "+strings.Repeat("a", 70<<10)+"\r\n"),
		"300 KiB header": get("GET /first HTTP/1.1", host+"X: "+strings.Repeat("a", 300<<10)+"\r\n"),
		"many headers":   get("GET /first HTTP/1.1", host+strings.Repeat("X: y\r\n", 20_000)),
		"long target":    get("GET /"+strings.Repeat("a", 70<<10)+" HTTP/1.1", host),
		// Upgrades with more bytes after the request.
		"websocket refused": get("GET /first HTTP/1.1", host+
			"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 98\r\n") + smuggled,
		"websocket chunked": get("GET /first HTTP/1.1", host+"Connection: Upgrade\r\n"+
			"Upgrade: websocket\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n" + smuggled,
		"h2c chunked": get("GET /first HTTP/1.1", host+"Connection: Upgrade\r\nUpgrade: h2c\r\n"+
			"Transfer-Encoding: chunked\r\n") + "0\r\n\r\n" + smuggled,
		"upgrade 1.0": get("GET /first HTTP/1.0", host+"Connection: Upgrade\r\nUpgrade: websocket\r\n"),
	}
	return all
}

// One in is at most one out, or a 4xx; and what goes out is one request that
// a strict reader reads whole (T31).
//
// threat: T31
func TestProxy_HostileRequests(t *testing.T) {
	all := hostileRequests()
	maps.Copy(all, readHostileList(t))
	if len(all) < 150 {
		t.Fatalf("only %d hostile requests", len(all))
	}
	for name, bytes := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec, out := sendAttack(t, bytes)
			judgeAttack(t, rec, out)
		})
	}
	t.Run("the recorder can see", func(t *testing.T) {
		t.Parallel()
		rec, _ := sendAttack(t, strings.Repeat(smuggled, 2))
		if n, _ := rec.count(); n != 2 || !strings.Contains(rec.bytes(), "/smuggled") {
			t.Fatalf("it saw %d requests of a plain pair", n)
		}
	})
}

// sendAttack sends bytes to an ingress of its own, and waits until the service has received all it
// will ever receive of them.
func sendAttack(t *testing.T, bytes string) (*recorder, string) {
	t.Helper()
	rec := newRecorder(t)
	b := newBed(t)
	r := b.at("cart", "web", rec.addr)
	b.set(r)
	server := ingress.NewServer(b.proxy, quietLogger())
	// A hostile client leaves requests unfinished; ours would wait 10 s.
	server.ReadHeaderTimeout, server.ReadTimeout = 500*time.Millisecond, 500*time.Millisecond
	server.IdleTimeout = 200 * time.Millisecond
	out := sendRaw(t, serveLoopback(t, server), bytes)
	b.proxy.Close()
	rec.wait(b.countDials(r.Target))
	return rec, out
}

func judgeAttack(t *testing.T, rec *recorder, out string) {
	t.Helper()
	n, broken := rec.count()
	if n > 1 || broken > 0 {
		t.Errorf("%d requests out, %d broken: %.600q", n, broken, rec.bytes())
	}
	for _, r := range rec.requests {
		if strings.HasPrefix(r.RequestURI, "/smuggled") || len(r.Header["Content-Length"]) > 1 ||
			len(r.TransferEncoding) > 0 && r.Header.Get("Content-Length") != "" {
			t.Errorf("smuggled: %.600q", rec.bytes())
		}
		if _, ok := ingress.Canonical(r.Host); !ok || !strings.EqualFold(r.Host, victim) {
			t.Errorf("sent with host %.600q", r.Host)
		}
		for h := range r.Header {
			if strings.Contains(h, "_") {
				t.Errorf("%s passed", h)
			}
		}
	}
	for _, status := range readStatuses(out) {
		ok := status == 200 && n == 1 || status >= 400 && status < 500 || status == 100 ||
			status == 501 || status == 505 || status == 502 && n <= 1
		if !ok {
			t.Errorf("answered %d with %d requests out: %.600q", status, n, out)
		}
	}
	if n == 0 && len(readStatuses(out)) == 0 && out != "" && !strings.HasPrefix(out, "HTTP/1.1 ") {
		t.Errorf("answered %.600q", out)
	}
}

// readStatuses reads what a client reads.
func readStatuses(out string) []int {
	var found []int
	in := bufio.NewReader(strings.NewReader(out))
	for {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return found
		}
		found = append(found, res.StatusCode)
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return found
		}
	}
}

// A service believes X-Forwarded-*, so only the ingress may say it (T33).
//
// threat: T33
func TestProxy_ForwardedHeadersAreOurs(t *testing.T) {
	rec := newRecorder(t)
	b := newBed(t)
	b.set(b.at("cart", "web", rec.addr))
	spoof := []string{
		"X-Forwarded-For: 9.9.9.9", "x-forwarded-for: 9.9.9.9", "X-Forwarded-Host: evil",
		"X-Forwarded-Proto: https", "X-Forwarded-Port: 443", "X-Forwarded-Server: evil",
		"X-Forwarded-Prefix: /evil", "X-Forwarded-User: root", "X-Forwarded: for=9.9.9.9",
		"Forwarded: for=9.9.9.9;host=evil", "X-Real-IP: 9.9.9.9", "X_Forwarded_For: 9.9.9.9",
		"X_Auth: root", "Remote_User: root", "X-Forwarded_For: 9.9.9.9", "_: x", "X_Real_IP: 9.9.9.9",
		"X-Client-IP: 9.9.9.9", "True-Client-IP: 9.9.9.9", "CF-Connecting-IP: 9.9.9.9",
		"Proxy: http://9.9.9.9", "Fastly-Client-IP: 9.9.9.9", "X-Cluster-Client-IP: 9.9.9.9",
		"X-Original-Forwarded-For: 9.9.9.9", "Client-IP: 9.9.9.9", "WL-Proxy-Client-IP: 9.9.9.9",
		"Proxy-Client-IP: 9.9.9.9", "X-ProxyUser-Ip: 9.9.9.9", "X-Forward-For: 9.9.9.9",
		"X-Vercel-Forwarded-For: 9.9.9.9", "X-Nf-Client-Connection-Ip: 9.9.9.9",
		"DO-Connecting-IP: 9.9.9.9", "CloudFront-Viewer-Address: 9.9.9.9:1", "Cdn-Src-Ip: 9.9.9.9",
		"X-Sucuri-ClientIP: 9.9.9.9", "X-AppEngine-Remote-Addr: 9.9.9.9", "Http-Client-Ip: 9.9.9.9",
		"X-Envoy-External-Address: 9.9.9.9", "X-Azure-SocketIP: 9.9.9.9", "Forwarded-For: 9.9.9.9",
		"X-Original-URL: /evil", "X-Rewrite-URL: /evil", "X-Original-URI: /evil", "X-Host: evil",
		"X-Original-Host: evil", "Client-Cert: :evil:", "X-SSL-Client-Cert: evil",
		"SSL-Client-Verify: SUCCESS", "X-Scheme: evil", "Front-End-Https: evil",
		"X-Visitor-IP: 9.9.9.9", "X-True-IP: 9.9.9.9", "X-IP: 9.9.9.9", "IP: 9.9.9.9", "X-LB-Ip: 9.9.9.9",
		"Remote-User: root", "X-Remote-User: root", "X-Accel-Mapping: /evil=/", "X-Sendfile-Type: evil",
		"X-TLS-Client-Cert: evil", "X-Url-Scheme: https", `CF-Visitor: {"scheme":"https"}`,
	}
	for _, s := range spoof {
		name, value, _ := strings.Cut(s, ": ")
		for _, connection := range []string{"close", "close, " + name, "close, X-Forwarded-For"} {
			rec.reset()
			b.raw(fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\n%s\r\nX-Keep: kept\r\nConnection: %s\r\n\r\n",
				victim, s, connection))
			n, _ := rec.count()
			if n != 1 {
				t.Fatalf("%q: %d requests out", s, n)
			}
			h := rec.requests[0].Header
			if strings.Contains(rec.bytes(), value) && value != "x" && value != "https" ||
				strings.Contains(rec.bytes(), "_") {
				t.Errorf("%q with %q passed: %q", s, connection, rec.bytes())
			}
			if strings.Join(h["X-Forwarded-For"], "|") != "127.0.0.1" ||
				strings.Join(h["X-Forwarded-Host"], "|") != victim ||
				strings.Join(h["X-Forwarded-Proto"], "|") != "http" || h.Get("X-Keep") != "kept" {
				t.Errorf("%q with %q: header = %v", s, connection, h)
			}
			for _, gone := range []string{"X-Forwarded-Port", "X-Forwarded-Server", "X-Real-Ip",
				"X-Forwarded-Prefix", "X-Forwarded-User", "Forwarded", "X-Forwarded"} {
				if h.Get(gone) != "" {
					t.Errorf("%q: %s = %q", s, gone, h.Get(gone))
				}
			}
		}
	}
}

// Absolute form names a second host, and which of the two counts is a matter
// of taste among servers.
func TestProxy_OriginFormOnly(t *testing.T) {
	rec := newRecorder(t)
	b := newBed(t)
	b.set(b.at("cart", "web", rec.addr))
	for line, want := range map[string]int{
		"GET http://" + victim + "/ HTTP/1.1":  400,
		"GET https://" + victim + "/ HTTP/1.1": 400,
		"GET http://no.example/ HTTP/1.1":      400,
		"OPTIONS * HTTP/1.1":                   400,
		"CONNECT " + victim + ":80 HTTP/1.1":   400,
		"CONNECT / HTTP/1.1":                   405,
		"TRACE / HTTP/1.1":                     405,
		"GET / HTTP/1.1":                       200,
	} {
		rec.reset()
		out := b.raw(line + "\r\nHost: " + victim + "\r\nConnection: close\r\n\r\n")
		n, _ := rec.count()
		if got := readStatuses(out); len(got) != 1 || got[0] != want || n != 0 && want != 200 {
			t.Errorf("%s: %v with %d requests out, want %d", line, got, n, want)
		}
	}
}

// readHostileList reads the requests that testdata/hostile.txt adds.
func readHostileList(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	put := strings.NewReplacer("HOST", "Host: "+victim+"\r\n", "SMUGGLED", smuggled)
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, quoted, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		bytes, err := strconv.Unquote(quoted)
		if !ok || err != nil || all[name] != "" {
			t.Fatalf("hostile.txt: %q is no request of its own: %v", line, err)
		}
		all[name] = put.Replace(bytes)
	}
	return all
}

package ingress

import (
	"net/http"
	"strings"
)

// specSpelling returns the spelling of a header in its specification, where net/http has another
// one. Names have no case, but some programs compare them byte by byte.
func specSpelling(name string) string {
	switch name {
	case "Content-Md5":
		return "Content-MD5"
	case "Dnt":
		return "DNT"
	case "Etag":
		return "ETag"
	case "Sec-Gpc":
		return "Sec-GPC"
	case "Soapaction":
		return "SOAPAction"
	case "Sourcemap":
		return "SourceMap"
	case "Www-Authenticate":
		return "WWW-Authenticate"
	case "X-Dns-Prefetch-Control":
		return "X-DNS-Prefetch-Control"
	case "X-Ua-Compatible":
		return "X-UA-Compatible"
	case "X-Xss-Protection":
		return "X-XSS-Protection"
	}
	if rest, ok := strings.CutPrefix(name, "Sec-Websocket-"); ok {
		return "Sec-WebSocket-" + rest
	}
	return name
}

func respellHeaders(h http.Header) {
	for name, values := range h {
		if spelled := specSpelling(name); spelled != name {
			delete(h, name)
			h[spelled] = values
		}
	}
}

package ingress

import "strings"

// isProxyOnlyHeader finds request headers that only a proxy may set, since applications and
// frameworks believe them: all forms of X-Forwarded, the client's address, its certificate,
// and the target, scheme or host that a request had before a proxy changed it, whom a proxy has
// signed in, and what it does with files. The header
// Proxy becomes HTTP_PROXY in CGI programs, which would then send their own requests there.
// CGI and its descendants read X_Auth and X-Auth as the same header, so no header with an
// underscore passes.
func isProxyOnlyHeader(name string) bool {
	switch name {
	case "Proxy", "Client-Cert", "Client-Cert-Chain", "X-Client-Cert", "X-Arr-Clientcert",
		"X-Original-Url", "X-Original-Uri", "X-Original-Host", "X-Rewrite-Url", "X-Host",
		"X-Http-Host-Override", "X-Envoy-Original-Path", "X-Script-Name",
		"X-Scheme", "X-Url-Scheme", "Front-End-Https", "X-Arr-Ssl", "Cf-Visitor",
		"X-Tls-Client-Cert", "X-Accel-Redirect", "X-Accel-Mapping", "X-Sendfile-Type",
		"Remote-User", "X-Remote-User":
		return true
	}
	if word := name[strings.LastIndexByte(name, '-')+1:]; word == "Ip" || word == "Ipv4" ||
		word == "Ipv6" {
		return true // X-Visitor-Ip, X-True-Ip, X-Lb-Ip: somebody's address, and not what we say
	}
	return strings.IndexByte(name, '_') >= 0 || strings.HasPrefix(name, "Ssl-Client-") ||
		strings.HasPrefix(name, "X-Ssl-Client-") || namesClientAddress(name)
}

// namesClientAddress finds the headers in which proxies name the client's address. Every
// proxy and every content delivery network has its own, made of a few words: X-Real-Ip,
// Cf-Connecting-Ip, Fastly-Client-Ip, X-Vercel-Forwarded-For, Cloudfront-Viewer-Address.
func namesClientAddress(name string) bool {
	client, address := strings.HasPrefix(name, "X-Envoy-External-"), false
	for word := range strings.SplitSeq(name, "-") {
		switch word {
		case "Forwarded", "Forward", "Forwarder":
			return true
		case "Clientip", "Realip", "Remoteip", "Socketip", "Userip":
			return true
		case "User": // but a user's address may be a street
			client = strings.HasSuffix(name, "-Ip")
		case "Client", "Connecting", "Connection", "Origin", "Original", "Originating", "Peer",
			"Proxyuser", "Pseudo", "Real", "Remote", "Source", "Src", "Viewer":
			client = true
		case "Ip", "Ipv4", "Ipv6", "Addr", "Address":
			address = true
		}
	}
	return client && address
}

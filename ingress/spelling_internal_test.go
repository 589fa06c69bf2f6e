package ingress

import (
	"maps"
	"net/http"
	"slices"
	"testing"
)

// A header keeps its values under the spelling of its specification, and is not sent twice.
func TestRespellHeaders_SendsEachOnce(t *testing.T) {
	t.Parallel()
	h := http.Header{"Etag": {`"1"`}, "Www-Authenticate": {"Basic", "Bearer"}, "Accept": {"*/*"},
		"Sec-Websocket-Key": {"k"}, "X-Ua-Compatible": {"IE=edge"}}
	respellHeaders(h)
	want := http.Header{"ETag": {`"1"`}, "WWW-Authenticate": {"Basic", "Bearer"}, "Accept": {"*/*"},
		"Sec-WebSocket-Key": {"k"}, "X-UA-Compatible": {"IE=edge"}}
	if !maps.EqualFunc(h, want, slices.Equal) {
		t.Errorf("the headers are %v", h)
	}
}

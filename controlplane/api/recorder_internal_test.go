package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The log and the metrics tell the status that ended the exchange: not a hint
// before it, and a connection that became a WebSocket is none that was answered.
func TestRecorder_KeepsTheFinalStatus(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		written []int
		want    int
	}{
		{nil, http.StatusOK},
		{[]int{http.StatusNotFound}, http.StatusNotFound},
		{[]int{http.StatusEarlyHints, http.StatusCreated}, http.StatusCreated},
		{[]int{http.StatusSwitchingProtocols}, http.StatusSwitchingProtocols},
	} {
		r := &recorder{ResponseWriter: httptest.NewRecorder(), note: &requestNote{}}
		for _, status := range one.written {
			r.WriteHeader(status)
		}
		if r.statusCode() != one.want {
			t.Errorf("after %v the status is %d, want %d", one.written, r.statusCode(), one.want)
		}
	}
}

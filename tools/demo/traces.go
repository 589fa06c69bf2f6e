package main

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// mostTraces bounds what is remembered, oldest first: a command asks soon for what it caused.
const mostTraces = 2000

// span is what a command may ask of one.
type span struct {
	ID     string `json:"id"`
	Parent string `json:"parent"`
	Name   string `json:"name"`
}

// traces is a collector of OpenTelemetry traces (OTLP over HTTP), which tells the spans of one.
type traces struct {
	url string

	mu    sync.Mutex
	order []string
	spans map[string][]span
}

// startTraces collects the traces of what is started later, for the command that is run.
func (p *product) startTraces() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t := &traces{url: "http://" + l.Addr().String(), spans: map[string][]span{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", t.collect)
	mux.HandleFunc("GET /traces/{id}", t.show)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	p.traces = t.url
	return nil
}

func (t *traces) collect(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	sent, err := io.ReadAll(body)
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(sent, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			t.keep(scope.Spans)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (t *traces) keep(all []*tracepb.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range all {
		id := hex.EncodeToString(s.TraceId)
		if t.spans[id] == nil {
			t.order = append(t.order, id)
		}
		t.spans[id] = append(t.spans[id], span{ID: hex.EncodeToString(s.SpanId),
			Parent: hex.EncodeToString(s.ParentSpanId), Name: s.Name})
	}
	for len(t.order) > mostTraces {
		delete(t.spans, t.order[0])
		t.order = t.order[1:]
	}
}

func (t *traces) show(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(append([]span{}, t.spans[r.PathValue("id")]...))
}

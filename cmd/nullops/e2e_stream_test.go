package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// event is one server-sent event, and when it came.
type event struct {
	id, kind, data string
	came           time.Time
}

// stream records the events of a URL until the test ends, it is closed, or the
// server ends it.
type stream struct {
	mu    sync.Mutex
	seen  []event
	ended bool
	stop  context.CancelFunc
}

// follow opens an event stream of the API.
func (who *person) follow(t *testing.T, path, lastID string) *stream {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, who.p.url+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+who.token)
	r.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	return recordStream(t, &http.Client{}, r)
}

func recordStream(t *testing.T, client *http.Client, r *http.Request) *stream {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	response, err := client.Do(r.WithContext(ctx))
	if err != nil {
		stop()
		t.Fatalf("%s: %v", r.URL, err)
	}
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		stop()
		t.Fatalf("%s: %s: %s", r.URL, response.Status, body)
	}
	s := &stream{stop: stop}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read(response.Body)
		_ = response.Body.Close()
	}()
	t.Cleanup(func() {
		stop()
		<-read
	})
	return s
}

func (s *stream) read(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 4<<20)
	var e event
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if e.kind != "" || e.data != "" {
				s.add(e)
			}
			e = event{}
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			e.data += value
		}
	}
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
}

func (s *stream) add(e event) {
	e.came = time.Now()
	s.mu.Lock()
	s.seen = append(s.seen, e)
	s.mu.Unlock()
}

// all returns what was seen so far, of one kind or, for "", of all.
func (s *stream) all(kind string) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.seen), func(e event) bool {
		return kind != "" && e.kind != kind
	})
}

func (s *stream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// awaitData waits for an event of a kind with this in its data.
func (s *stream) awaitData(t *testing.T, kind, part string) {
	t.Helper()
	eventually(t, "an event "+kind+" with "+part, func() string {
		for _, e := range s.all(kind) {
			if strings.Contains(e.data, part) {
				return ""
			}
		}
		if s.over() {
			return "the stream ended"
		}
		return "not yet"
	})
}

// stepMoves lists "key status" in the order in which the stream sent it.
func (s *stream) stepMoves(t *testing.T) (moves []string) {
	t.Helper()
	for _, e := range s.all("step") {
		var step apiclient.Step
		if err := json.Unmarshal([]byte(e.data), &step); err != nil {
			t.Fatalf("event step: %v: %s", err, e.data)
		}
		moves = append(moves, step.Key+" "+string(step.Status))
	}
	return moves
}

// expectSoon checks that each step's end was sent within seconds.
func (s *stream) expectSoon(t *testing.T) {
	t.Helper()
	for _, e := range s.all("step") {
		var step apiclient.Step
		if err := json.Unmarshal([]byte(e.data), &step); err != nil {
			t.Fatalf("event step: %v: %s", err, e.data)
		}
		if step.EndedAt != nil && e.came.Sub(*step.EndedAt) > soon {
			t.Errorf("step %s ended at %s, and the stream said so at %s", step.Key, step.EndedAt, e.came)
		}
	}
}

// since is what was seen after an id.
func (s *stream) since(id string) *stream {
	all := s.all("")
	at := slices.IndexFunc(all, func(e event) bool { return e.id == id })
	return &stream{seen: all[at+1:]}
}

// data lists what the events of a kind carry.
func (s *stream) data(kind string) (data []string) {
	for _, e := range s.all(kind) {
		data = append(data, e.data)
	}
	return data
}

// ids lists the ids that can be resumed from, in order.
func (s *stream) ids() (ids []string) {
	for _, e := range s.all("") {
		if e.id != "" {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// jsonText is how a text looks inside JSON.
func jsonText(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/registry"
)

// servePages serves a list of tags in pages of 100, however many are asked for.
func servePages(total int, link func(next int) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if pingRegistry(w, r) {
			return
		}
		start, _ := strconv.Atoi(r.URL.Query().Get("last"))
		var tags []string
		for i := start; i < min(start+100, total); i++ {
			tags = append(tags, fmt.Sprintf("v%d", i))
		}
		if next := start + 100; next < total {
			w.Header()["Link"] = link(next)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tags": tags})
	}
}

// Tags are counted, not pages, and whichever way a registry says what comes
// next, the list is whole.
func TestListTags_ManyPages(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(next int) []string{
		"plain": func(next int) []string {
			return []string{fmt.Sprintf(`</v2/shop/api/tags/list?n=100&last=%d>; rel="next"`, next)}
		},
		"one header with several links": func(next int) []string {
			return []string{fmt.Sprintf(`</v2/shop/api/tags/list?a=1,2>; rel="first prev", `+
				`</v2/shop/api/tags/list?a=1,2&last=%d>; rel="last next"`, next)}
		},
		"several headers": func(next int) []string {
			return []string{`</v2/shop/api/tags/list>; rel="first"`,
				fmt.Sprintf(`</v2/shop/api/tags/list?last=%d>; rel=next`, next)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t, servePages(6_050, link))
			l, err := newClient(t, registry.Config{AnswerTime: time.Minute}).
				ListTags(t.Context(), plainSource(f.host()))
			if err != nil || len(l.Tags) != 6_050 {
				t.Errorf("%d tags, %v", len(l.Tags), err)
			}
		})
	}
}

// A list that cannot be read to its end says why, and what helps against that.
func TestListTags_EndlessLists(t *testing.T) {
	t.Parallel()
	answer := func(link func(n int) string, tags func(n int) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if pingRegistry(w, r) {
				return
			}
			n, _ := strconv.Atoi(r.URL.Query().Get("last"))
			w.Header().Set("Link", link(n))
			_, _ = w.Write([]byte(`{"tags":[` + tags(n) + `]}`))
		}
	}
	onward := func(n int) string {
		return fmt.Sprintf(`</v2/shop/api/tags/list?last=%d>; rel="next"`, n+1)
	}
	one := func(int) string { return `"v1"` }
	long := strings.Repeat("y", 100)
	for _, c := range []struct {
		name         string
		handler      http.HandlerFunc
		says, remedy string
	}{
		{"off-site", answer(func(int) string {
			return `<https://internal.example.org/v2/shop/api/tags/list?n=2>; rel="next"`
		}, one), "https://internal.example.org", "proxy"},
		{"loop", answer(func(int) string {
			return `</v2/shop/api/tags/list?last=7>; rel="next"`
		}, one), "repeats pages", "paging"},
		{"loop at new addresses", answer(onward, one), "repeats pages", "paging"},
		{"too many", answer(onward, func(n int) string {
			tags := make([]string, 20_000)
			for i := range tags {
				tags[i] = fmt.Sprintf(`"v%d.%d-%s"`, n, i, long)
			}
			return strings.Join(tags, ",")
		}), "more than 200000 tags", "Delete old tags"},
		{"unreadable", answer(func(int) string { return `</v2/shop; rel="next"` }, one),
			"cannot be read", "Link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t, c.handler)
			_, err := newClient(t, registry.Config{AnswerTime: time.Minute}).
				ListTags(t.Context(), plainSource(f.host()))
			var said *controlplane.Error
			if !errors.As(err, &said) || said.Code != "registry_refused" ||
				!strings.Contains(said.Message, c.says) || !strings.Contains(said.Remedy, c.remedy) {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// A slow list is not reported as a registry that does not answer. The caller is not kept waiting,
// and the list is there later.
func TestListTags_SlowList(t *testing.T) {
	t.Parallel()
	after := make(chan struct{})
	inner := servePages(300, func(next int) []string {
		return []string{fmt.Sprintf(`</v2/shop/api/tags/list?last=%d>; rel="next"`, next)}
	})
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("last") {
			<-after
		}
		inner(w, r)
	})
	c := newClient(t, registry.Config{AnswerTime: 4 * time.Second})
	_, err := c.ListTags(t.Context(), plainSource(f.host()))
	var said *controlplane.Error
	if !errors.As(err, &said) || said.Code != "registry_slow" ||
		!strings.Contains(said.Message, "100 tags came") ||
		!strings.Contains(said.Remedy, "Delete old tags") {
		t.Errorf("got %+v", err)
	}
	close(after)
	l, err := c.ListTags(t.Context(), plainSource(f.host()))
	if err != nil || len(l.Tags) != 300 || !slices.Contains(l.Tags, "v299") {
		t.Errorf("%d tags, %v", len(l.Tags), err)
	}
}

// A caller that waits for a long list gets an error that says so; the list is read on in the
// background.
func TestListTags_ReadsOnBehind(t *testing.T) {
	t.Parallel()
	inner := servePages(500, func(next int) []string {
		return []string{fmt.Sprintf(`</v2/shop/api/tags/list?last=%d>; rel="next"`, next)}
	})
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("last") {
			time.Sleep(1600 * time.Millisecond)
		}
		inner(w, r)
	})
	c := newClient(t, registry.Config{AnswerTime: 3 * time.Second})
	_, err := c.ListTags(t.Context(), plainSource(f.host()))
	if err == nil || !strings.Contains(err.Error(), "still sending") {
		t.Errorf("got %v", err)
	}
	awaitTrue(t, "the whole list", func() bool {
		l, err := c.ListTags(t.Context(), plainSource(f.host()))
		return err == nil && len(l.Tags) == 500
	})
}

package registry

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
)

func TestNextPage(t *testing.T) {
	t.Parallel()
	const here = "https://reg.example.org/v2/shop/api/tags/list"
	for _, c := range []struct {
		name   string
		header []string
		want   string
	}{
		{"none", nil, ""},
		{"relative", []string{`</v2/x?last=b&n=1>; rel="next"`},
			"https://reg.example.org/v2/x?last=b&n=1"},
		{"relative to the page", []string{`<?last=b>; rel=next`}, here + "?last=b"},
		{"commas and semicolons", []string{`</v2/x?last=a,b;c>; rel="next"`},
			"https://reg.example.org/v2/x?last=a,b;c"},
		{"another first", []string{`</first>; rel="first", </n>; rel="next"`},
			"https://reg.example.org/n"},
		{"several headers", []string{`</first>; rel="first"`, `</n>; rel="next"`},
			"https://reg.example.org/n"},
		{"several relations", []string{`</n>; rel="last next"`}, "https://reg.example.org/n"},
		{"any case, spaces", []string{` , < /n > ; title="a, \"b\"; rel=prev" ;REL = "Next" ,`},
			"https://reg.example.org/n"},
		{"only like it", []string{`</n>; rel="next-archive", </m>; title="rel=next"; rel=prev`}, ""},
		{"second rel is none", []string{`</n>; rel=prev; rel=next`}, ""},
		{"about something else", []string{`</n>; rel=next; anchor="/other"`}, ""},
		{"parameters without values", []string{`</n>; hreflang; rel=next`}, "https://reg.example.org/n"},
		{"the port spelled out", []string{`<https://REG.example.org:443/n>; rel=next`},
			"https://reg.example.org/n"},
		{"empty", []string{`<>; rel="next"`}, ""},
	} {
		from, err := url.Parse(here)
		if err != nil {
			t.Fatal(err)
		}
		got, err := nextPage(from, http.Header{"Link": c.header})
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestNextPage_Refused(t *testing.T) {
	t.Parallel()
	from := &url.URL{Scheme: "https", Host: "reg.example.org", Path: "/v2/"}
	var off *offSite
	for _, header := range []string{
		`<https://evil.example.org/n>; rel=next`, `<http://reg.example.org/n>; rel=next`,
		`<//evil.example.org/n>; rel=next`, `<https://reg.example.org:8443/n>; rel=next`,
		`<https://me:word@reg.example.org/n>; rel=next`,
	} {
		if got, err := nextPage(from, http.Header{"Link": {header}}); !errors.As(err, &off) {
			t.Errorf("%s: %q, %v", header, got, err)
		}
	}
	for _, header := range []string{
		`/n; rel=next`, `</n; rel=next`, `</n>; rel="next`, `</n> rel=next`, `<:%zz>; rel=next`,
		`</n>; rel="next\`,
	} {
		if got, err := nextPage(from, http.Header{"Link": {header}}); !errors.Is(err, errLinks) {
			t.Errorf("%s: %q, %v", header, got, err)
		}
	}
}

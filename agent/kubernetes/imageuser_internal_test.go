package kubernetes

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// layered is an image of these layers, the first one lowest. A file is "name=content", and
// "name>target" is a link.
func layered(t *testing.T, layers ...[]string) v1.Image {
	t.Helper()
	image := empty.Image
	for _, files := range layers {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, f := range files {
			name, content, _ := strings.Cut(f, "=")
			h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}
			if name, target, link := strings.Cut(f, ">"); link {
				h, content = &tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}, ""
			}
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, content); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(b.Bytes())), nil
		})
		if err == nil {
			image, err = mutate.AppendLayers(image, layer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return image
}

// Users and groups are those of the image as a container sees it: what a later layer has hides what
// earlier ones had, and what it removes is gone.
func TestReadAccounts_SeesWhatAContainerSees(t *testing.T) {
	t.Parallel()
	const passwd, group = "etc/passwd=app:x:1:2::/:/\n", "etc/group=team:x:3:other,app\n"
	const other = "etc/passwd=app:x:7:8::/:/"
	for name, c := range map[string]struct {
		layers [][]string
		user   string
		want   string
	}{
		"one layer":          {[][]string{{passwd, group}}, "app", "1:2:[3]"},
		"with dots":          {[][]string{{"./" + passwd, "/" + group}}, "app:team", "1:3:[]"},
		"a later layer":      {[][]string{{passwd, group}, {other}}, "app", "7:8:[3]"},
		"an earlier layer":   {[][]string{{group}, {passwd}, {"bin/app="}}, "app", "1:2:[3]"},
		"a number as group":  {[][]string{{passwd}}, "app:9", "1:9:[]"},
		"removed":            {[][]string{{passwd}, {"etc/.wh.passwd="}}, "app", "no user app"},
		"removed as a whole": {[][]string{{passwd}, {"etc/.wh..wh..opq="}}, "app", "no user app"},
		"removed, and new":   {[][]string{{other}, {"etc/.wh..wh..opq=", passwd}}, "app", "1:2:[]"},
		"nobody":             {[][]string{{passwd, group}}, "who", "no user who"},
		"no such group":      {[][]string{{passwd, group}}, "app:who", "no group who"},
		"no file":            {[][]string{{"bin/app="}}, "app", "no user app"},
		"a link":             {[][]string{{"etc/passwd>/run/x"}}, "app", "its /etc/passwd is a link"},
		"no number":          {[][]string{{"etc/passwd=app:x:one:2::/:/"}}, "app", `"one"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			a, err := readAccounts(layered(t, c.layers...))
			if err == nil {
				var u podUser
				if u, err = a.find(c.user); err == nil {
					got = fmt.Sprintf("%d:%d:%v", u.uid, *u.gid, u.groups)
				}
			}
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("user %s is %s, wanted %s", c.user, got, c.want)
			}
		})
	}
}

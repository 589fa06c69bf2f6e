package main_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
	"github.com/rclone/gofakes3/signature"

	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

const accessKey, secretKey = "the-access-key", "the-secret-key-0123456789"

// newServer is an S3 server in memory. Its own check of signatures is called
// here, since the server takes an empty delimiter, which clients send to list
// everything, for a delimiter; it must go, but only after the check.
func newServer(t *testing.T) (address string, client *minio.Client) {
	t.Helper()
	inner := gofakes3.New(s3mem.New()).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lookup := func(key string) (string, bool) { return secretKey, key == accessKey }
		if result := signature.V4SignVerifyWithLookup(r, lookup); result != signature.ErrNone {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		query := r.URL.Query()
		if query.Get("delimiter") == "" {
			query.Del("delimiter")
			r.URL.RawQuery = query.Encode()
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	client, err := minio.New(strings.TrimPrefix(server.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, client
}

func TestSamples(t *testing.T) {
	address, client := newServer(t)
	stdiotest.Samples(t, stdiotest.Build(t), "", map[string]string{
		"URL": address, "ACCESS": accessKey, "SECRET": secretKey,
		"CLOSED": stdiotest.FreePort(t),
	})
	expectNothing(t, client)
}

// The bucket can be used, a second create keeps what is in it, and delete takes
// it away with more objects than one page of a listing has.
func TestPlugin_ABucketOfItsOwn(t *testing.T) {
	address, client := newServer(t)
	program, ctx := stdiotest.Build(t), t.Context()
	call(t, program, address, stdio.ActionCreate)
	put := func(name string) {
		_, err := client.PutObject(ctx, "shop-42", name, strings.NewReader("x"), 1,
			minio.PutObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1100 {
		put("folder/" + strconv.Itoa(i))
	}
	put("odd name/with äöü & %2F?")
	call(t, program, address, stdio.ActionCreate)
	if _, err := client.StatObject(ctx, "shop-42", "folder/7", minio.StatObjectOptions{}); err != nil {
		t.Errorf("the second create lost an object: %v", err)
	}
	call(t, program, address, stdio.ActionDelete)
	expectNothing(t, client)
	call(t, program, address, stdio.ActionDelete)
}

func call(t *testing.T, program, address string, action stdio.Action) {
	t.Helper()
	got := stdiotest.Run(t.Context(), t, program, []byte(`{"action":"`+string(action)+`",
		"parameters":{"endpoint":"`+address+`","bucket":"shop-42"},
		"secrets":{"accessKey":"`+accessKey+`","secretKey":"`+secretKey+`"}}`))
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%s: %v %s\n%s", action, err, got.Stdout, got.Stderr)
	}
	if strings.Contains(string(got.Stderr)+string(got.Stdout), secretKey) {
		t.Errorf("the secret key is in\n%s\n%s", got.Stdout, got.Stderr)
	}
}

func expectNothing(t *testing.T, client *minio.Client) {
	t.Helper()
	buckets, err := client.ListBuckets(t.Context())
	if err != nil || len(buckets) != 0 {
		t.Errorf("delete left %v, %v", buckets, err)
	}
}

package main_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/nullops/nullops/internal/servertest"
	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

const accessKey, secretKey = servertest.AccessKey, servertest.SecretKey

func newServer(t *testing.T) (address string, client *minio.Client) {
	t.Helper()
	server := servertest.NewS3(t, "127.0.0.1")
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
	callPlugin(t, program, address, stdio.ActionCreate)
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
	callPlugin(t, program, address, stdio.ActionCreate)
	if _, err := client.StatObject(ctx, "shop-42", "folder/7", minio.StatObjectOptions{}); err != nil {
		t.Errorf("the second create lost an object: %v", err)
	}
	callPlugin(t, program, address, stdio.ActionDelete)
	expectNothing(t, client)
	callPlugin(t, program, address, stdio.ActionDelete)
}

func TestCheck_FindsABucketThatIsGone(t *testing.T) {
	address, client := newServer(t)
	stdiotest.Check(t, stdiotest.Build(t), stdio.Request{
		Parameters: map[string]any{"endpoint": address, "bucket": "shop-42"},
		Secrets:    map[string]string{"accessKey": accessKey, "secretKey": secretKey},
	}, func() {
		if err := client.RemoveBucket(t.Context(), "shop-42"); err != nil {
			t.Fatal(err)
		}
	})
}

func callPlugin(t *testing.T, program, address string, action stdio.Action) {
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

// Command s3-bucket is a plugin that gives a deployment a bucket of its own on
// an S3 server. Its delete removes the bucket and everything in it.
//
// Both actions may be repeated. Plain S3 has no accounts to make, so the outputs
// hold no keys: services use those the pipeline keeps as secrets. A bucket of
// that name that is there already is taken over with what is in it, and delete
// empties it all the same: derive the name from the deployment's.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: createBucket, Delete: removeBucket, Check: checkBucket})
}

type parameters struct {
	Endpoint       string  `json:"endpoint"`
	Region         string  `json:"region"`
	Bucket         string  `json:"bucket"`
	ConnectSeconds float64 `json:"connect_seconds"`
}

func readParameters(req stdio.Request) (parameters, error) {
	// The defaults are those component.json shows.
	p := parameters{Region: "us-east-1", ConnectSeconds: 30}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	u, err := url.Parse(p.Endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return p, errors.New("parameter \"endpoint\" must be a URL such as http://s3:9000")
	case strings.Trim(u.Path, "/") != "" || u.User != nil:
		return p, errors.New("parameter \"endpoint\" is scheme, host and port only; " +
			"the keys are secrets, the bucket is a parameter")
	case !bucketName().MatchString(p.Bucket):
		return p, fmt.Errorf("parameter \"bucket\" is 3 to 63 lower-case letters, digits, "+
			"dots and hyphens, not %q", p.Bucket)
	case req.Secrets["accessKey"] == "" || req.Secrets["secretKey"] == "":
		return p, errors.New("secrets \"accessKey\" and \"secretKey\" are required; " +
			"map them to references such as ${{ secrets.S3_ACCESS_KEY }}")
	}
	return p, nil
}

// bucketName is S3's rule for new buckets.
func bucketName() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
}

func createBucket(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	s, err := connectStore(ctx, p, req, log)
	if err != nil {
		return stdio.Response{}, err
	}
	if err := s.ensureBucket(ctx, p); err != nil {
		return stdio.Response{}, err
	}
	log.Info("bucket ready", "bucket", p.Bucket, "endpoint", p.Endpoint)
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("bucket %s is ready", p.Bucket),
		Outputs: map[string]any{
			"endpoint": p.Endpoint, "region": p.Region, "bucket": p.Bucket,
			"url": strings.TrimRight(p.Endpoint, "/") + "/" + p.Bucket,
		},
		Metadata: []stdio.Metadatum{{Name: "Bucket", Value: p.Bucket}},
	}, nil
}

func removeBucket(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	// What create really made counts, should the parameters differ by now.
	var made struct {
		Bucket string `json:"bucket"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.Bucket != "" {
		p.Bucket = made.Bucket
	}
	s, err := connectStore(ctx, p, req, log)
	if err != nil {
		return stdio.Response{}, err
	}
	removed, err := s.dropBucket(ctx, p.Bucket)
	if err != nil {
		return stdio.Response{}, err
	}
	log.Info("bucket gone", "bucket", p.Bucket, "objects", removed)
	return stdio.Response{
		Success: true, Output: fmt.Sprintf("bucket %s is gone", p.Bucket),
		Metadata: []stdio.Metadatum{{Name: "Objects removed", Value: strconv.Itoa(removed)}},
	}, nil
}

// checkBucket looks for the bucket, with the keys that services use.
func checkBucket(ctx context.Context, req stdio.Request, _ *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	var made struct {
		Bucket string `json:"bucket"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.Bucket == "" {
		return stdio.Response{}, errors.New("create has not said which bucket it made")
	}
	s, err := openStore(p, req)
	if err != nil {
		return stdio.Response{}, err
	}
	there, err := s.bucketExists(ctx, made.Bucket)
	switch {
	case err != nil:
		return stdio.Response{}, fmt.Errorf("ask %s for bucket %s: %w", p.Endpoint, made.Bucket, err)
	case !there:
		return stdio.Response{}, fmt.Errorf("there is no bucket %s", made.Bucket)
	}
	return stdio.Response{Success: true, Output: fmt.Sprintf("bucket %s is there", made.Bucket)}, nil
}

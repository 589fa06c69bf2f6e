package servertest

import "testing"

// The only keys that the S3 server knows.
const (
	AccessKey = "the-access-key"
	SecretKey = "the-secret-key-0123456789"
)

// S3 is an S3 server in memory that checks the signature of every request.
type S3 struct {
	// URL is where it answers.
	URL string

	process *Process
}

// NewS3 starts an S3 server on an address of this machine.
func NewS3(t testing.TB, host string) *S3 {
	t.Helper()
	s := &S3{}
	s.process = Start(t, "s3", map[string]string{
		"Host": host, "AccessKey": AccessKey, "SecretKey": SecretKey}, s)
	return s
}

// Put stores an object without a signature.
func (s *S3) Put(bucket, name, content string) {
	s.process.t.Helper()
	s.process.Call("/put", map[string]string{
		"Bucket": bucket, "Name": name, "Content": content}, nil)
}

// Buckets names all buckets, sorted.
func (s *S3) Buckets() (names []string) {
	s.process.t.Helper()
	s.process.Call("/buckets", nil, &names)
	return names
}

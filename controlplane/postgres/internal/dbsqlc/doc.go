// Package dbsqlc is the generated code for the queries in ../../queries. It is
// internal, so that only package postgres uses SQL.
package dbsqlc

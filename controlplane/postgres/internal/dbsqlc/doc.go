// Package dbsqlc is the generated code for the queries in ../../queries. It is
// internal, so that nobody but package postgres speaks SQL.
package dbsqlc

"""What commands show: progress, tables, reports, pages and files."""

"""What people look at: tables, plots and the one-page report. Knows no room."""

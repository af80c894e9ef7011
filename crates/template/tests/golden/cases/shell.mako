#!/bin/bash
# started by ${FuncName}
export LD_LIBRARY_PATH=${'$'}{LD_LIBRARY_PATH}:${WorkPath}/lib
PID_FILE="${PidFile}"
HOSTS=(${' '.join(h['ip'] for h in hosts)})
for h in "${'$'}{HOSTS[@]}"; do
    echo $h ${'%'}d 100%
done
cd ${WorkPath} && \\
    ./bin/${FuncName} --inst ${InstID} --set '${SetName}' \\
    >> log/out.log 2>&1 &
echo $! > $PID_FILE

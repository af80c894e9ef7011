[program:${FuncName}_${InstID}]
command=${WorkPath}/bin/${FuncName} -c conf/%(program_name)s.conf
process_name=%(program_name)s
environment=ZONE="${SetName}",REGION="${global_variables['region']}"
